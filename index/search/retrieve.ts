/** Runs a query on an organisation's index and rows. Returns matches, ranked nodes, and the connections among them. */
import type { EdgeTable } from '../derived/schema.ts'
import * as limits from '../limits.ts'
import {
  type Answering,
  createDescriber,
  describeMatches,
  describeNode,
  edgesAmong,
  type RetrievedMatch,
  type RetrievedNode,
  withinLimits,
} from './answers/answer.ts'
import { type ShowText, showPassages, showWholeTexts } from './answers/shown-text.ts'
import { type AskedHits, orderedHits, type QuestionMeaning } from './ordered-hits.ts'
import type { Expansion, Following } from './ranking/expansion.ts'
import { parseQuestion, type QuerySyntax } from './ranking/filters.ts'
import type { Coverage } from './ranking/idf-overlap.ts'
import { followNames, withoutNames } from './ranking/matches.ts'
import { parseQuery, type Query } from './ranking/query.ts'
import { type ExpansionDepth, LEVELS, type Level, type Match, rankNodes } from './ranking/ranking.ts'
import { admitsNone, allOf, createFilter, type Scope } from './ranking/scope.ts'
import {
  bestFirst,
  type DocumentFilter,
  roundScore,
  type ScoredHit,
  type Scores,
  SEARCHED,
  scoreTerms,
} from './ranking/scores.ts'
import { type Corpus, documentCount } from './segments/corpus.ts'
import type { SearchedTexts } from './segments/org-index.ts'
import type { SearchRows } from './segments/rows.ts'
import type { LanguageOf } from './text/languages.ts'

/** A search request, as in spec/openapi.yaml. The caller has validated it. */
export interface SearchQuestion {
  query: string
  /** Default `operators`. */
  syntax?: QuerySyntax
  top_k: number
  /** The number of matches to skip. Only without expansion. Default 0. */
  offset?: number
  expansion_depth: ExpansionDepth
  /** `passages` returns the best passages of each node. */
  include_raw_text: boolean | 'passages'
  /** The maximum number of nodes, including matches, which are always kept. Default 500. */
  max_nodes?: number
  /** UTF-16 units of all texts or passages together. */
  max_chars?: number
  /** True to explain the scores of matches and nodes. */
  explain?: boolean
  scope?: Scope
}

/** Filters that are not of the index of texts, such as those by property. */
export interface Filters {
  /** The query without its conditions. Absent: the query has none. */
  readonly words?: string
  /** The nodes within the scope. */
  readonly scope?: DocumentFilter | undefined
  /** The nodes that the query's conditions admit as matches. */
  readonly matches?: DocumentFilter | undefined
}

/** The reason why there is no match. */
type Hint = 'scope_is_empty' | 'only_stop_words' | 'no_term_known'

export interface Retrieved {
  query: string
  matches: RetrievedMatch[]
  /** The number of all matches; at least this many if it is not exact. */
  total: number
  total_is_exact: boolean
  nodes: RetrievedNode[]
  connections: EdgeTable[]
  truncated: boolean
  hint?: Hint
  /** True if the words of the query failed, so that its meaning counts. Only with vectors. Callers do not pass it on. */
  unsure?: boolean
}

/**
 * Runs a query. `searched` and `rows` must be from the same snapshot. The result depends on the query and on their
 * content, not on the order of changes. If the words do not fail, `meaning` changes nothing.
 *
 * @throws errors of better-sqlite3
 */
export function retrieve(
  searched: SearchedTexts,
  rows: SearchRows,
  languageOf: LanguageOf,
  orgId: string,
  question: SearchQuestion,
  filters: Filters = {},
  meaning?: QuestionMeaning,
): Retrieved {
  const { texts: corpus } = searched
  const level = LEVELS[question.expansion_depth]
  const scope = question.scope ?? {}
  const admission = allOf([createFilter(corpus, rows, scope), filters.scope])
  const parts = parseQuestion(filters.words ?? question.query, question.syntax)
  const text = parts.text === '' ? parts.titles.join(' ') : parts.text
  const query = parseQuery(corpus, languageOf, text)
  const scores = scoreTerms(corpus, SEARCHED[query.searched], query.terms)
  const coverage: Coverage = { corpus, query, scores, concepts: new Map() }
  const { offset = 0 } = question
  const asked: AskedHits = {
    searched,
    rows,
    coverage,
    parts,
    text,
    filters: { admission, matches: filters.matches },
    from: offset,
    to: offset + question.top_k,
  }
  const ordered = orderedHits(asked, meaning)
  const { found, all, unsure } = ordered
  const expansion = createExpansion(corpus, rows, followOf(level, scope), admission, found.ids)
  const hits = all.slice(offset, asked.to)
  const matches = bestFirst(hits).map(({ id, score }): Match => ({ id, score: roundScore(score) }))
  const names =
    level.hops === 0 || ordered.meaning // Names need a match whose title is in the query; then the words have not failed.
      ? withoutNames(ordered.ranked)
      : followNames(expansion, coverage, found, ordered.ranked, new Set(hits.map(({ id }) => id)), asked.to)
  const ranked = rankNodes(expansion, coverage, matches, names, level)
  const answer: Answering = {
    expansion,
    coverage,
    ranked: ordered.ranked,
    names,
    meaning: ordered.meaning && { ...ordered.meaning, passageOf: passageByMeaning(ordered.meaning.gains, meaning) },
    described: createDescriber(rows),
    explains: question.explain ?? false,
  }
  const shows = showText(answer, question)
  const showsPassages = question.include_raw_text === 'passages'
  const bytesOf = (id: string) => answer.described(id)?.bytes ?? 0
  const limited = withinLimits(
    ranked.nodes,
    question.max_nodes ?? limits.searchNodes,
    question.include_raw_text === true ? bytesOf : undefined,
  )
  const hint = hits.length === 0 ? hintOf(corpus, query, admission) : undefined
  const ids = new Set(limited.nodes.map(({ node }) => node.id))
  const among = level.hops === 0 ? { edges: [], cut: false } : edgesAmong(rows, orgId, ids)
  return {
    query: question.query,
    matches: describeMatches(answer, orgId, hits, offset),
    total: found.total + (found.isByPhrase ? 0 : countUnscored(scores, query, all)),
    total_is_exact: found.isTotalExact,
    nodes: limited.nodes.map(({ node, hasText }) =>
      describeNode(answer, node, hasText || showsPassages ? shows : undefined),
    ),
    connections: among.edges,
    truncated: ranked.cut || limited.truncated || among.cut,
    ...(hint === undefined ? {} : { hint }),
    ...(unsure === undefined ? {} : { unsure }),
  }
}

function createExpansion(
  corpus: Corpus,
  rows: SearchRows,
  follow: Following,
  admission: DocumentFilter | undefined,
  best: readonly string[],
): Expansion {
  return { corpus, rows, follow, admission, best, places: new Map(), toBest: new Map() }
}

/** Returns a function that finds the nearest passage of a node that gains. Asks once for each node. */
function passageByMeaning(gains: ReadonlyMap<string, unknown>, meaning: QuestionMeaning | undefined) {
  const known = new Map<string, number | undefined>()
  return (id: string): number | undefined => {
    if (!gains.has(id)) return undefined
    if (!known.has(id)) known.set(id, meaning?.nearestPassage?.(id))
    return known.get(id)
  }
}

/** Counts the hits without a word of the query. Only a title or the meaning led to them. */
function countUnscored(scores: Scores, { isWordy }: Query, hits: readonly ScoredHit[]): number {
  return isWordy ? hits.filter(({ id }) => scores.find(id) === undefined).length : 0
}

function showText(
  { expansion: { rows }, coverage: { corpus, query }, meaning }: Answering,
  question: SearchQuestion,
): ShowText | undefined {
  const { include_raw_text, max_chars } = question
  if (include_raw_text === 'passages') return showPassages(rows, corpus, query, max_chars, meaning?.passageOf)
  return include_raw_text ? showWholeTexts(rows, max_chars) : undefined
}

function hintOf(corpus: Corpus, query: Query, admission: DocumentFilter | undefined): Hint | undefined {
  if (admitsNone(corpus, admission) || documentCount(corpus) === 0) return 'scope_is_empty'
  if (query.searched === 'title' && query.isWordy) return 'only_stop_words'
  return query.isWordy && query.terms.length === 0 ? 'no_term_known' : undefined
}

function followOf(level: Level, { connection_types }: Scope): Following {
  const { children, parents, connections } = level
  return { children, parents, connections, connection: (type) => connection_types?.includes(type) !== false }
}
