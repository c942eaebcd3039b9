/**
 * A second judge of pull requests. It knows the format of the ledger's files and of the organisation's, reads them with
 * native Git, and shares no code with the service.
 */
import type { Git } from '../support/git.ts'

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
type Json = any // the service has written it

const roles = ['reader', 'contributor', 'editor', 'maintainer', 'owner']
const atLeast = (role: string | undefined, needed: string) =>
  role !== undefined && roles.indexOf(role) >= roles.indexOf(needed)

/** The verdict of the naive judge, in the words of responses. */
export interface NaiveJudgement {
  /** The places of the rules that hold. */
  readonly rules: number[]
  readonly merge_reasons: string[]
  readonly can_merge: boolean
  readonly approvals: number
  readonly required: number
  readonly changes_requested: number
  readonly missing: { rule: number; needed: number; of: Json }[]
  /** The last verdict of each user, by entry. */
  readonly verdicts: { entry: number; verdict: string; state: string; counts: boolean }[]
  readonly open_threads: number
  readonly threads_must_be_resolved: boolean
  readonly merge_role: string
  readonly demanded: Record<string, string>
}

/** All files of a ref, by path. */
function filesOf(git: Git, ref: string): Map<string, Json> {
  const listed = git.lines('ls-tree', '-r', ref).map((line) => line.split(/[ \t]/))
  let answer = git.run(['cat-file', '--batch'], { input: listed.map(([, , blob]) => `${blob}\n`).join('') })
  const files = new Map<string, Json>()
  for (const [, , , path = ''] of listed) {
    const [head = '', size] = /^\S+ blob (\d+)\n/.exec(answer.toString('latin1', 0, 100)) ?? []
    const text = answer.subarray(head.length, head.length + Number(size)).toString()
    answer = answer.subarray(head.length + Number(size) + 1)
    if (path.endsWith('.json')) files.set(path, JSON.parse(text))
  }
  return files
}

interface Change {
  readonly base: string
  readonly head: string
}

/** Judges a pull request into main that is open, and whose node has no part of the graph above it. */
export function judgeNaively(git: Git, org: Git, node: string, number: number): NaiveJudgement {
  const settings = filesOf(org, 'refs/heads/main')
  const ledger = filesOf(git, 'refs/grove/ledger')
  const record = ledger.get(`pulls/0/0/${number}.json`)
  const [target = '', source = ''] = git.lines('rev-parse', 'refs/heads/main', `refs/heads/${record.source_branch}`)
  const [behind = 0, ahead = 0] = git
    .say('rev-list', '--left-right', '--count', `${target}...${source}`)
    .split('\t')
    .map(Number)
  const base = git.say('merge-base', target, source)
  const rules = rulesOf(settings.get('org.json'), node)
  const roleOf = (user: string): string | undefined => settings.get(`members/${user}.json`)?.role
  const authors = new Set(git.lines('log', '--format=%ae', `${target}..${source}`).map((one) => one.toLowerCase()))
  const entries = [...ledger].flatMap(([path, json]) => {
    const [, entry] = new RegExp(`^reviews/0/0/${number}/0/(\\d+)\\.json$`).exec(path) ?? []
    return entry === undefined ? [] : [{ entry: Number(entry), json }]
  })
  entries.sort((a, b) => a.entry - b.entry)
  const verdicts = verdictsOf(lastVerdicts(entries), { git, base, source, authors, record, rules, roleOf })
  const missing = rules.flatMap(({ rule, at }) => {
    const given = verdicts.filter(({ verdict, counting }) => verdict === 'approve' && counting(rule)).length
    return rule.approvals > given ? [{ rule: at, needed: rule.approvals - given, of: rule.by }] : []
  })
  const required = Math.max(0, ...rules.map(({ rule }) => rule.approvals))
  const objections = verdicts.filter(({ verdict, counts }) => verdict === 'request_changes' && counts).length
  const { states, failed, absent } = demandsOf(
    rules,
    ledger.get(`checks/${source.slice(0, 2)}/${source.slice(2)}.json`),
    { record, authors, roleOf },
  )
  const openThreads = countOpen(entries)
  const needsThreads = rules.some(({ rule }) => rule.resolved)
  const found: [string, boolean][] = [
    ['no_commits_ahead', ahead === 0],
    ['diverged', ahead > 0 && behind > 0],
    ['draft', record.is_draft],
    ['changes_requested', required > 0 && objections > 0],
    ['approvals_missing', missing.length > 0],
    ['checks_failed', failed],
    ['checks_missing', absent],
    ['threads_open', needsThreads && openThreads > 0],
  ]
  const reasons = found.filter(([, holds]) => holds).map(([reason]) => reason)
  const places = rules.map(({ rule }) => roles.indexOf(rule.merge))
  return {
    rules: rules.map(({ at }) => at),
    merge_reasons: reasons.length > 0 ? reasons : ['mergeable'],
    can_merge: reasons.length === 0,
    approvals: verdicts.filter(({ verdict, counts }) => verdict === 'approve' && counts).length,
    required,
    changes_requested: objections,
    missing,
    verdicts: verdicts.map(({ entry, verdict, state, counts }) => ({ entry, verdict, state, counts })),
    open_threads: openThreads,
    threads_must_be_resolved: needsThreads,
    merge_role: roles[Math.max(2, ...places)] ?? '',
    demanded: states,
  }
}

type Entry = { readonly entry: number; readonly json: Json }

interface Judging {
  readonly git: Git
  readonly base: string
  readonly source: string
  /** E-mail addresses of the commits' authors, in lower case. */
  readonly authors: ReadonlySet<string>
  readonly record: Json
  readonly rules: ReturnType<typeof rulesOf>
  readonly roleOf: (user: string) => string | undefined
}

/** The last verdict of each user, and the rules that it counts for. */
function verdictsOf(last: readonly Entry[], { git, base, source, authors, record, rules, roleOf }: Judging) {
  return last.map(({ entry, json }) => {
    const same = isHeld(json) ? sameness(git, json, { base, head: source }) : 'other'
    const isStale = json.verdict === 'approve' && (same === 'other' || json.target_branch !== 'main')
    const held = isStale ? 'stale' : 'current'
    const state = json.withdrawn ? 'withdrawn' : json.dismissed ? 'dismissed' : held
    const role = roleOf(json.by.id)
    const isOwn = json.by.id === record.author_id
    const general = state === 'current' && role !== undefined && !isOwn
    const counting = ({ by, keep }: Json): boolean => {
      const isNamed = by.people?.includes(json.by.id) || (by.role !== undefined && atLeast(role, by.role))
      if (!general || !isNamed || json.verdict === 'request_changes') return general && isNamed
      return !authors.has(json.by.email.toLowerCase()) && (keep !== 'same_commit' || same === 'same_commit')
    }
    const asking = rules.filter(({ rule }) => rule.approvals > 0)
    const counts = asking.length === 0 ? general : asking.some(({ rule }) => counting(rule))
    return { entry, verdict: json.verdict, state, counts, counting }
  })
}

function rulesOf({ rules = [] }: Json, node: string): { rule: Json; at: number }[] {
  const patterns = ['main', 'm*', '**']
  return rules.flatMap((rule: Json, at: number) => {
    const isHere = rule.under === undefined || rule.under === node
    return isHere && rule.branches.some((one: string) => patterns.includes(one)) ? [{ rule, at }] : []
  })
}

function lastVerdicts(entries: readonly Entry[]): Entry[] {
  const last = new Map<string, Entry>()
  for (const one of entries)
    if (one.json.kind === 'verdict' && one.json.verdict !== 'comment') last.set(one.json.by.id, one)
  return [...last.values()].sort((a, b) => a.entry - b.entry)
}

const isHeld = ({ verdict, withdrawn, dismissed }: Json) => verdict === 'approve' && !withdrawn && !dismissed

function sameness(git: Git, { base, head }: Change, now: Change): string {
  if (head === now.head && (base === now.base || isAncestor(git, base, now.base))) return 'same_commit'
  const [ours, theirs] = [now.base, head].map((oid) =>
    git.say('commit-tree', `${oid}^{tree}`, '-p', base, '-m', 'side'),
  )
  try {
    const merged = git.say('merge-tree', '--write-tree', '--no-messages', ours ?? '', theirs ?? '')
    return merged === git.say('rev-parse', `${now.head}^{tree}`) ? 'same_change' : 'other'
  } catch {
    return 'other'
  }
}

function isAncestor(git: Git, above: string, below: string): boolean {
  return git.lines('rev-list', below).includes(above)
}

function demandsOf(
  rules: readonly { rule: Json }[],
  file: Json,
  { record, authors, roleOf }: Pick<Judging, 'record' | 'authors' | 'roleOf'>,
) {
  const states: Record<string, string> = {}
  const all: string[] = []
  for (const { rule } of rules)
    for (const { name, from } of rule.checks) {
      const report = file?.checks[name]
      const isGone = report && roleOf(report.by.id) === undefined
      const isOwn = isGone || report?.by.id === record.author_id || authors.has(report?.by.email.toLowerCase())
      const counts = report && (from === undefined ? !isOwn : report.by.id === from)
      const state = counts ? report.state : 'missing'
      all.push(state)
      if (states[name] !== 'missing') states[name] = state
    }
  return {
    states,
    failed: all.includes('failure'),
    absent: all.some((state) => state !== 'failure' && state !== 'success'),
  }
}

function countOpen(entries: readonly Entry[]): number {
  const comments = entries.filter(({ json }) => json.kind === 'comment')
  return comments.filter(({ entry, json }) => {
    if (json.thread !== undefined || json.resolved) return false
    return comments.some((one) => (one.entry === entry || one.json.thread === entry) && !one.json.deleted)
  }).length
}
