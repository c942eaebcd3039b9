/** The oracle of a storm's rules: each merge had the consent that the ledger shows at the commit before it. */

import { isDeepStrictEqual } from 'node:util'
import { type Git, gitIn } from '../support/git.ts'
import { type Replay, type ReplayedPull, replay } from '../support/ledger-replay.ts'
import type { Client } from '../support/people.ts'
import { checkName } from './consent.ts'
import type { Found } from './judge-talk.ts'
import { problem } from './problems.ts'
import type { Request, RulesVersion, SharedNode, Span, StormRule, World } from './world.ts'

/** Settles the last list of rules. org.git and the service have it. */
export async function judgeRules(world: World, person: Client): Promise<void> {
  const { rules: known } = JSON.parse(gitIn(world, world.org, 'org').say('show', 'HEAD:org.json'))
  const isKnown = (version: RulesVersion | undefined) => version?.rules[0]?.branches[1] === known?.[0]?.branches[1]
  const last = world.rules.at(-1)
  if (last?.ended === undefined && !isKnown(last)) world.rules.pop()
  const settled = world.rules.at(-1)
  if (settled) settled.ended ??= performance.now()
  if (!isKnown(settled)) problem(world, `org.git has ${JSON.stringify(known)}, not ${JSON.stringify(settled)}`)
  const shown = await person.get(`/orgs/${world.org}`)
  const isShown = (rule: StormRule, at: number) =>
    Object.entries(rule).every(([key, value]) => isDeepStrictEqual(shown.body.rules?.[at]?.[key], value))
  if (!settled?.rules.every(isShown)) problem(world, `the rules should be ${JSON.stringify(settled?.rules)}`, shown)
}

/** Judges merges into branches with rules that were not judged before, and looks for what was acknowledged. */
export function judgeConsent(
  world: World,
  git: Git,
  node: SharedNode,
  found: ReadonlyMap<number, readonly Found[]>,
): void {
  const now = performance.now()
  for (const { attempts = [] } of node.requests) for (const attempt of attempts) attempt.ended ??= now
  const merged = node.requests.filter((one) => one.target !== undefined && one.status === 'merged' && !one.isJudged)
  const wanted = new RegExp(
    `^(checks/|(pulls|reviews)/\\d+/\\d+/(${merged.map(({ number }) => number).join('|')})[./])`,
  )
  const ledger = replay(git, (path) => wanted.test(path))
  for (const request of merged) judgeMerge(world, git, node, request, ledger)
  judgeReports(world, node, ledger)
  for (const request of node.requests) judgeApplied(world, git, node, request, found.get(request.number ?? 0) ?? [])
}

function judgeMerge(world: World, git: Git, node: SharedNode, request: Request, ledger: Replay): void {
  const { number = 0, attempts = [] } = request
  request.isJudged = true
  const before = ledger.subjects.indexOf(`merge ${number}`)
  const { record } = ledger.pullAt(number, before + 1)
  const pull = ledger.pullAt(number, before)
  const reasons = world.rules
    .filter((_, at) => attempts.some((attempt) => mayStand(world.rules, at, attempt)))
    .map(({ rules }) => reasonsOf(world, git, request, { rules, ledger, before, pull, head: record.source_commit }))
  const { overridden } = record
  const isJust = (some: readonly string[]) =>
    overridden ? some.length > 0 && isDeepStrictEqual(some, overridden.reasons) : some.length === 0
  if (!reasons.some(isJust) || (overridden && !/^reason \d+$/.test(overridden.reason)))
    problem(
      world,
      `request ${number} of ${node.at} was merged against rules: ${JSON.stringify({ reasons, record, entries: [...pull.entries] })}`,
    )
}

/** True if the list may have been the organisation's during the span. */
function mayStand(versions: readonly RulesVersion[], at: number, { begun, ended = Infinity }: Span): boolean {
  return (versions[at]?.begun ?? Infinity) <= ended && (versions[at + 1]?.ended ?? Infinity) >= begun
}

interface Moment {
  readonly rules: readonly StormRule[]
  readonly ledger: Replay
  /** How many commits of the ledger there were. */
  readonly before: number
  readonly pull: ReplayedPull
  readonly head: string
}

/** Why the rules held the request up, by their definition alone. */
function reasonsOf(world: World, git: Git, { name }: Request, moment: Moment): string[] {
  const { rules, ledger, before, pull, head } = moment
  const verdicts = [...pull.entries].sort(([a], [b]) => a - b).filter(([, { kind }]) => kind === 'verdict')
  const last = new Map(
    verdicts.filter(([, { verdict }]) => verdict !== 'comment').map(([, json]) => [json.by.id, json]),
  )
  const standing = [...last.values()].filter(({ withdrawn, dismissed }) => !withdrawn && !dismissed)
  // Each request changes one file, so that this file is its change.
  const textAt = (commit: string) => git.say('rev-parse', `${commit}:${name}.txt`)
  const isSame = (approved: string, keep: StormRule['keep']) =>
    approved === head || (keep !== 'same_commit' && textAt(approved) === textAt(head))
  const approvals = (rule: StormRule) =>
    standing.filter((json) => json.verdict === 'approve' && isSame(json.head, rule.keep)).length
  const asking = rules.filter((rule) => rule.approvals !== undefined)
  const report = ledger.checksAt(head, before)[checkName]
  const counts = report !== undefined && report.by.email === world.reviewer ? report.state : 'pending'
  const demands = rules.some(({ checks }) => checks !== undefined)
  const reasons = {
    changes_requested: asking.length > 0 && standing.some(({ verdict }) => verdict === 'request_changes'),
    approvals_missing: asking.some((rule) => approvals(rule) < (rule.approvals ?? 0)),
    checks_failed: demands && counts === 'failure',
    checks_missing: demands && counts === 'pending',
    threads_open: rules.some(({ resolved }) => resolved) && hasOpenThread(pull),
  }
  return Object.entries(reasons).flatMap(([reason, holds]) => (holds ? [reason] : []))
}

function hasOpenThread({ entries }: ReplayedPull): boolean {
  const comments = [...entries].filter(([, { kind }]) => kind === 'comment')
  return comments.some(
    ([first, { thread, resolved }]) =>
      thread === undefined &&
      resolved === undefined &&
      comments.some(([entry, json]) => (entry === first || json.thread === first) && json.deleted === undefined),
  )
}

/** Each report that was acknowledged was the last one of its commit at some commit of the ledger. */
function judgeReports(world: World, node: SharedNode, { subjects, checksAt }: Replay): void {
  const seen = new Set(
    subjects.flatMap((subject, at) => {
      const [, commit] = /^check ([0-9a-f]+) /.exec(subject) ?? []
      return commit === undefined ? [] : [checksAt(commit, at + 1)[checkName]?.description]
    }),
  )
  for (const report of node.reports) if (!seen.has(report)) problem(world, `${report} of ${node.at} is lost`)
  node.reports = []
}

/** Each suggestion that was applied says so, and its commit is in the branch. */
function judgeApplied(world: World, git: Git, node: SharedNode, request: Request, found: readonly Found[]): void {
  const { applied = [], name, branchDeleted, number } = request
  const commits = found.flatMap(({ json }) => json.applied?.commit ?? [])
  if (new Set(commits).size < commits.length) problem(world, `${node.at} ${number}: a commit applied two suggestions`)
  if (found.some(({ json }) => json.suggestion === undefined && json.applied))
    problem(world, `${node.at} ${number}: what is not a suggestion was applied`)
  for (const commit of applied.splice(0)) {
    if (!commits.includes(commit)) problem(world, `${node.at} ${number}: ${commit} is not known to its suggestion`)
    if (branchDeleted === 'no' && git.lines('rev-list', commit, '--not', `refs/heads/${name}`).length > 0)
      problem(world, `${node.at} ${number}: ${commit} is not in ${name}`)
  }
}
