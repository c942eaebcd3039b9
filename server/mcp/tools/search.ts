/** The tool that searches. */

import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import { answer, list } from '../answer.ts'
import { asItem, brief, wellFormed } from '../quoted.ts'
import { readAs } from '../read-filter.ts'
import { type Session, sourcesOf } from '../session.ts'
import { maxChars, nodeId, orgId, tool } from '../tool.ts'

/** Largest number of nodes around the matches. */
const nodesAround = 40
/** Shares of an answer for the passages, and for the list of matches. */
const passagesShare = 0.6
const matchesShare = 0.5
const snippetChars = 240
const suggestions = 10
/** Characters that the API accepts. */
const titlePrefix = 500

type Found = Output<'searchNodes'>

export const search = tool({
  name: 'search',
  title: 'Search',
  description:
    'Finds nodes of an organisation by words, best first, with the best passages. If the words fail, it also searches by meaning, where the service can. `expand` follows the graph from the matches. The query may contain "a phrase", -word, title:word, tag:word, and conditions of known properties such as status:done. Cite a node by its source.',
  access: 'read',
  operations: ['searchNodes', 'suggestTitles'],
  input: z.strictObject({
    org_id: orgId,
    query: z.string().min(1).max(limits.queryBytes),
    syntax: z.literal('plain').optional().describe('All of the query is words'),
    top_k: z.int().min(1).max(20).default(5).describe('Maximum number of matches'),
    expand: z
      .enum(['none', 'shallow', 'standard', 'deep'])
      .default('none')
      .describe('How far to follow parents, children and connections'),
    tags: z
      .array(z.string().min(1).max(limits.tag))
      .max(100)
      .optional()
      .describe('Only nodes that have all of these tags'),
    under: nodeId.optional().describe('Only this node and its descendants'),
    where: z
      .string()
      .min(1)
      .max(2_000)
      .optional()
      .describe('Only nodes that match this filter, as list_nodes takes it'),
    branch: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Search the content of this branch, in the nodes that have it'),
    max_chars: maxChars,
  }),
  where: (_, loc) => (loc[1] === 'scope' ? loc.slice(2) : loc.slice(1)).join('.'),
  run: async (session, { org_id, query, syntax, top_k, expand, tags, under, where, branch, max_chars }) => {
    const found = await session.api.searchNodes({
      path: { org_id },
      body: {
        query,
        ...(syntax === undefined ? {} : { syntax }),
        top_k,
        expansion_depth: expand,
        scope: {
          ...(tags === undefined ? {} : { tags }),
          ...(under === undefined ? {} : { under }),
          ...(where === undefined ? {} : { where }),
          ...(branch === undefined ? {} : { branch }),
        },
        include_raw_text: 'passages',
        max_nodes: top_k + nodesAround,
        max_chars: Math.floor(max_chars * passagesShare),
      },
    })
    if (found.matches.length === 0) return nothingFound(session, org_id, query, found, max_chars)
    return answerOf(org_id, found, max_chars)
  },
})

function answerOf(org: string, found: Found, chars: number): string {
  const { matches, total, total_is_exact: isExact, nodes, truncated } = found
  const around = nodes.filter(({ relation }) => relation !== 'match')
  const items = matches.map((match) => {
    const { rank, node_id, title, commit_id, passage, snippet } = match
    return asItem({
      rank,
      id: node_id,
      title: brief(title, snippetChars),
      commit: commit_id,
      ...(isByMeaning(match) && { found_by: 'meaning' }),
      ...(passage === undefined ? {} : { heading: passage.heading || undefined, line: passage.line }),
      snippet: brief(snippet, snippetChars),
    })
  })
  const passages = nodes.flatMap(({ id, passages = [] }) =>
    passages.map(({ heading, line, text }) => asItem({ id, heading: heading || undefined, line, text })),
  )
  const others = around.map(({ id, title, relation, via, tags, commit_id }) =>
    asItem({
      id,
      title: brief(title, snippetChars),
      relation,
      via,
      tags: tags.slice(0, 10),
      commit: commit_id,
    }),
  )
  const numMeant = matches.filter(isByMeaning).length
  const meant = numMeant === 0 ? '' : `, ${numMeant} found by meaning, not by words`
  const lead = `Matches, best first: ${matches.length} of ${isExact ? '' : 'at least '}${total}${meant}. Nodes around them: ${around.length}${truncated ? ', and more' : ''}.${withoutSome(found)}${withoutMeaning(found)}`
  return answer(
    chars,
    [lead, sourcesOf(org)],
    [
      ...readAs(found),
      list({ of: 'matches', items, share: matchesShare }),
      ...(passages.length === 0
        ? []
        : [list({ of: 'passages', items: passages, rest: () => 'call read_node to get them' })]),
      ...(others.length === 0 ? [] : [list({ of: 'nodes around', items: others })]),
    ],
  )
}

/** True if the match has no word of the query. Meaning also raises matches that have some. */
function isByMeaning({ meaning, matched_terms }: Found['matches'][number]): boolean {
  return meaning !== undefined && matched_terms.length === 0
}

const hints: Readonly<Record<NonNullable<Found['hint']>, string>> = {
  scope_is_empty: 'No node matches the filters `tags`, `under`, `where` and `branch`.',
  only_stop_words: 'The query has only very common words, which are searched only in titles.',
  no_term_known: 'No title or text contains any word of the query.',
}

/** Why meaning could not count. */
const reasons: Partial<Record<NonNullable<Found['meaning']>['state'], string>> = {
  unavailable: 'the model for meaning does not answer now. Use other words, or search again later.',
  catching_up: 'the service still prepares the search by meaning. Use other words, or search again later.',
  language: 'the model for meaning does not know the language of the query.',
}

/** A sentence for a lead line about nodes that could not be found yet. */
function withoutSome({ unindexed_nodes: left }: Found): string {
  return left === undefined ? '' : ` The index is being built: ${left} nodes were not searched yet. Search again later.`
}

/** A sentence for a lead line. Else a model takes a search by words for one by meaning that found nothing. */
function withoutMeaning({ meaning }: Found): string {
  const reason = meaning && reasons[meaning.state]
  return reason === undefined ? '' : ` Only words were searched, because ${reason}`
}

async function nothingFound({ api }: Session, org_id: string, query: string, found: Found, chars: number) {
  const { hint } = found
  const read = readAs(found)
  const q = wellFormed(query.slice(0, titlePrefix))
  const { suggestions: titles } = await api.suggestTitles({ path: { org_id }, query: { q, limit: suggestions } })
  const lead = `No matches.${hint === undefined ? '' : ` ${hints[hint]}`}${withoutSome(found)}${withoutMeaning(found)}`
  const items = titles.map(({ node_id, title }) => asItem({ id: node_id, title: brief(title, snippetChars) }))
  if (items.length === 0) return answer(chars, [lead], read)
  return answer(chars, [`${lead} Nodes with a similar title:`], [...read, list({ of: 'titles', items })])
}
