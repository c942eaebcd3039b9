/**
 * Compares a log of events with native Git. Branches, tags, members and nodes follow from the events. Each commit of a
 * ledger or of org.git has exactly its events. The log must begin with the organisation, and no text may be erased.
 */

import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Git, gitIn } from '../support/git.ts'
import { readBlobs, readChain } from '../support/ledger-replay.ts'
import type { LoggedEvent } from './log-rows.ts'

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a ledger or of org.git
type Json = any // each use says what it expects

/** An event that a commit must have. */
interface Expected {
  readonly type: string
  /** The part of the id that follows from Git. */
  readonly key: string
  /** Fields of `data` that are compared. */
  readonly data: Readonly<Record<string, unknown>>
}

/** A file that a commit changed, before and after it. Undefined: it is not there. */
interface FileChange {
  readonly commit: string
  readonly path: string
  readonly before: Json
  readonly now: Json
}

/** Returns the differences in words. */
export function differencesFromGit(
  grove: { readonly dataDir: string },
  org: string,
  events: readonly LoggedEvent[],
): string[] {
  const found: string[] = []
  if (events[0]?.type !== 'log.began') found.push(`the first event is ${events[0]?.type}`)
  if (new Set(events.map(({ id }) => id)).size < events.length) found.push('an id is there twice')
  const byNode = new Map<string, LoggedEvent[]>()
  for (const id of nodesIn(grove, org)) byNode.set(id, [])
  for (const event of events) {
    const id = event.subject?.replace('nodes/', '') ?? ''
    byNode.set(id, [...(byNode.get(id) ?? []), event])
  }
  const ofOrg = byNode.get('') ?? []
  byNode.delete('')
  found.push(...compareCommits(ofOrg, expectedOfOrg(gitIn(grove, org, 'org')), { org, node: '' }))
  const there = new Set(nodesIn(grove, org))
  for (const [node, ofNode] of byNode)
    found.push(...compareNode(grove, { org, node }, ofNode, there.has(node)).map((what) => `${node}: ${what}`))
  return found
}

/** The nodes that readers have. One that is only proposed, or deleted in place, has no events. */
function nodesIn({ dataDir }: { readonly dataDir: string }, org: string): string[] {
  return readdirSync(join(dataDir, org))
    .filter((name) => /^[0-9a-f-]{36}\.git$/.test(name))
    .map((name) => name.replace('.git', ''))
    .filter((node) => {
      const record = gitIn({ dataDir }, org, node).say('show', 'refs/grove/ledger:node.json')
      return JSON.parse(record).state === undefined
    })
}

interface At {
  readonly org: string
  /** Empty: the organisation itself. */
  readonly node: string
}

function compareNode(
  grove: { readonly dataDir: string },
  at: At,
  events: readonly LoggedEvent[],
  isThere: boolean,
): string[] {
  const life = events.filter(({ type }) => /^node\.(created|deleted|restored)$/.test(type)).map(({ type }) => type)
  const found = life.flatMap((type, n) => {
    const isNext = n === 0 ? type === 'node.created' : (type === 'node.deleted') === (n % 2 === 1)
    return isNext ? [] : [`${type} is event ${n + 1} of its life`]
  })
  if (isThere !== (life.length % 2 === 1)) found.push(`is ${isThere ? '' : 'not '}there after ${life}`)
  const refs = replayRefs(events)
  found.push(...refs.problems, ...compareMoves(events))
  if (!isThere) return found
  const git = gitIn(grove, at.org, at.node)
  const real = git.lines('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags').sort()
  const said = [...refs.heads].map(([ref, oid]) => `${ref} ${oid}`).sort()
  const differing = [...real.filter((ref) => !said.includes(ref)), ...said.filter((ref) => !real.includes(ref))]
  if (differing.length > 0) found.push(`events and Git differ at ${differing.join(', ')}`)
  return [...found, ...compareCommits(events, expectedOfNode(git), at)]
}

/** Moves the refs as the events say. Each move must begin where the one before ended. */
function replayRefs(events: readonly LoggedEvent[]) {
  const heads = new Map<string, string>()
  const problems: string[] = []
  for (const { type, data, seq } of events) {
    const [, kind, act] = /^(branch|tag)\.(created|updated|deleted)$/.exec(type) ?? []
    if (type === 'node.created' && data.head !== undefined) heads.set('refs/heads/main', data.head)
    if (kind === undefined) continue
    const ref = `refs/${kind === 'branch' ? 'heads' : 'tags'}/${data.name}`
    if (heads.get(ref) !== data.before) problems.push(`${type} ${seq} begins at ${data.before}, not ${heads.get(ref)}`)
    if ((data.before === undefined) !== (act === 'created') || (data.after === undefined) !== (act === 'deleted'))
      problems.push(`${type} ${seq} goes from ${data.before} to ${data.after}`)
    if (data.after === undefined) heads.delete(ref)
    else heads.set(ref, data.after)
  }
  return { heads, problems }
}

/** Each move of main is an event of the node, and each event of a pull request's source is a move. */
function compareMoves(events: readonly LoggedEvent[]): string[] {
  const moveOf = ({ data }: LoggedEvent) => `${data.before ?? null}..${data.after ?? null}`
  const moves = events.filter(({ type }) => type.startsWith('branch.'))
  const ofMain = moves.filter(({ data }) => data.name === 'main').map(moveOf)
  const updated = events.filter(({ type }) => type === 'node.updated').map(moveOf)
  const found = isDeepStrictEqual(ofMain, updated) ? [] : [`main moved ${ofMain}, and node.updated has ${updated}`]
  const unused = moves
    .filter(({ type }) => type === 'branch.updated')
    .map((event) => `${moveOf(event)} ${event.data.name}`)
  const sources = new Map(
    events.filter(({ type }) => type === 'pull_request.opened').map(({ data }) => [data.number, data.source_branch]),
  )
  const seen = new Map<string, number>()
  for (const event of events.filter(({ type }) => type === 'pull_request.updated')) {
    const move = `${moveOf(event)} ${sources.get(event.data.number)}`
    const times = (seen.get(`${event.data.number} ${move}`) ?? 0) + 1
    seen.set(`${event.data.number} ${move}`, times)
    if (unused.filter((one) => one === move).length < times)
      found.push(`pull_request.updated ${event.seq} has the move ${move}, which its branch did not make`)
  }
  return found
}

const ofCommits =
  /^(org\.(created|updated)|member\.\w+|node\.created|pull_request\.(opened|edited|closed|reopened|merged)|(comment|thread|review|suggestion|check)\.\w+)$/

/** The events of commits are those that the commits must have, in the order of the commits. */
function compareCommits(events: readonly LoggedEvent[], expected: readonly Expected[][], { org, node }: At): string[] {
  const found: string[] = []
  const wanted = new Map<string, Expected & { readonly commit: number }>()
  for (const [commit, all] of expected.entries())
    for (const one of all) {
      const key = [org, node, one.type, one.key].join('\n')
      wanted.set(createHash('sha256').update(key).digest('hex').slice(0, 32), { ...one, commit })
    }
  let last = 0
  for (const event of events.filter(({ type }) => ofCommits.test(type))) {
    const one = wanted.get(event.id)
    wanted.delete(event.id)
    if (one === undefined) {
      found.push(`no commit has ${event.type} ${event.seq}: ${JSON.stringify(event.data)}`)
      continue
    }
    const differing = Object.entries(one.data).filter(([name, value]) => !isDeepStrictEqual(event.data[name], value))
    if (differing.length > 0)
      found.push(`${event.type} ${event.seq} has ${JSON.stringify(event.data)}, not ${JSON.stringify(differing)}`)
    if (one.commit < last) found.push(`${event.type} ${event.seq} comes after an event of a later commit`)
    last = Math.max(last, one.commit)
  }
  for (const { type, key, data } of wanted.values()) found.push(`${type} ${JSON.stringify(data)} of ${key} is missing`)
  return found
}

/** Lists the JSON files that each commit of a chain changed. */
function readChanges(git: Git, ref: string, isWanted: RegExp): FileChange[][] {
  const chain = readChain(git, ref).map(({ id, files }) => ({
    id,
    files: files.filter(({ path }) => isWanted.test(path)),
  }))
  const blobs = new Set(
    chain.flatMap(({ files }) => files.map(({ blob }) => blob)).filter((blob) => !/^0+$/.test(blob)),
  )
  const texts = readBlobs(git, [...blobs])
  const state = new Map<string, Json>()
  return chain.map(({ id, files }) =>
    files.map(({ path, blob }) => {
      const change = { commit: id, path, before: state.get(path), now: texts.get(blob) }
      state.set(path, change.now)
      return change
    }),
  )
}

function expectedOfOrg(git: Git): Expected[][] {
  return readChanges(git, 'refs/heads/main', /^(org|members\/[^/]+)\.json$/).map((changes) =>
    changes.flatMap(({ commit, path, before, now }) => {
      if (path !== 'org.json') return memberEvents(commit, path, before, now)
      if (before === undefined) return [{ type: 'org.created', key: commit, data: { name: now.name } }]
      const fields = ['name', 'description', 'published', 'require_pull_requests', 'rules']
      const changed = fields.filter((field) => !isDeepStrictEqual(before[field], now[field]))
      return changed.length === 0 ? [] : [{ type: 'org.updated', key: commit, data: { changed } }]
    }),
  )
}

function memberEvents(commit: string, path: string, before: Json, now: Json): Expected[] {
  const user_id = path.replace(/^members\/(.*)\.json$/, '$1')
  if (before !== undefined && now !== undefined && before.name === now.name && before.role === now.role) return []
  const type = before === undefined ? 'member.added' : now === undefined ? 'member.removed' : 'member.updated'
  const { name, role } = now ?? before
  return [{ type, key: `${commit}:${user_id}`, data: { user_id, name, role } }]
}

function expectedOfNode(git: Git): Expected[][] {
  const files = /^(node|pulls\/\d+\/\d+\/\d+|reviews\/\d+\/\d+\/\d+\/\d+\/\d+|checks\/..\/[0-9a-f]+)\.json$/
  const all = readChanges(git, 'refs/grove/ledger', files)
  // A proposed node has its title from the merge on.
  const isThere = ({ path, now }: FileChange) => path === 'node.json' && now?.state === undefined
  const title = all.flat().find(isThere)?.now.title
  return all.map((changes) =>
    changes.flatMap((change): Expected[] => {
      const { commit, path, before, now } = change
      if (path === 'node.json')
        return before === undefined ? [{ type: 'node.created', key: commit, data: { title: title ?? now.title } }] : []
      if (path.startsWith('pulls/')) return pullEvents(change)
      return path.startsWith('checks/') ? checkEvents(change) : entryEvents(change)
    }),
  )
}

function pullEvents({ commit, before, now }: FileChange): Expected[] {
  const { number, id, title, source_branch, target_branch, is_draft, source_commit, target_before } = now
  const data = {
    number,
    id,
    title,
    source_branch,
    target_branch,
    is_draft,
    source_commit,
    target_commit: target_before,
  }
  const isEdited = ['title', 'description', 'target_branch', 'is_draft'].some((name) => before?.[name] !== now[name])
  const changed = now.status === 'open' ? 'reopened' : now.status
  const act = before === undefined ? 'opened' : before.status !== now.status ? changed : isEdited ? 'edited' : undefined
  const idsOf = (record: Json): string[] => (record?.reviewers ?? []).map((one: Json) => one.id)
  const reviewers = idsOf(now).filter((one) => !idsOf(before).includes(one))
  return [
    ...(act === undefined ? [] : [{ type: `pull_request.${act}`, key: commit, data }]),
    ...(reviewers.length === 0 ? [] : [{ type: 'review.requested', key: commit, data: { number, reviewers } }]),
  ]
}

function checkEvents({ commit, path, before, now }: FileChange): Expected[] {
  const checked = path.replace(/^checks\/(..)\/(.*)\.json$/, '$1$2')
  return Object.entries<Json>(now.checks).flatMap(([name, check]) =>
    isDeepStrictEqual(before?.checks[name], check)
      ? []
      : [{ type: 'check.reported', key: `${commit}:${name}`, data: { commit: checked, name, state: check.state } }],
  )
}

function entryEvents({ commit, path, before, now }: FileChange): Expected[] {
  const [number = 0, entry = 0] = (/(\d+)\/\d+\/(\d+)\.json$/.exec(path) ?? []).slice(1).map(Number)
  const make = (type: string, data: object = {}): Expected => ({
    type,
    key: `${commit}:${entry}`,
    data: { number, entry, ...data },
  })
  const begins = (field: string) => now[field] !== undefined && before?.[field] === undefined
  if (now.kind === 'verdict')
    return [
      ...(before === undefined ? [make('review.submitted', { verdict: now.verdict, commit: now.head })] : []),
      ...['withdrawn', 'dismissed'].filter(begins).map((field) => make(`review.${field}`)),
    ]
  if (now.kind !== 'comment') return []
  const thread = now.thread ?? entry
  const isOther = (field: string) => !isDeepStrictEqual(now[field], before?.[field])
  const isEdited = before !== undefined && now.deleted === undefined && (isOther('edited') || isOther('text'))
  const reopened = now.resolved === undefined && before?.resolved !== undefined
  return [
    ...(before === undefined ? [make('comment.created', { thread })] : []),
    ...(isEdited ? [make('comment.edited', { thread })] : []),
    ...(begins('deleted') ? [make('comment.deleted', { thread })] : []),
    ...(begins('applied') ? [make('suggestion.applied', { thread, commit: now.applied.commit })] : []),
    ...(begins('resolved') ? [make('thread.resolved', { thread })] : []),
    ...(reopened ? [make('thread.reopened', { thread })] : []),
  ]
}
