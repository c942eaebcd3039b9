/** The lines of the activity: sentences about acts, with links. */

import type { ComponentChildren } from 'preact'
import { eventCatalog, type Place } from '../../base/event-types.ts'
import { Line, Lines, signOf } from '../kit/lines.tsx'
import type { Act, ActivityEvent } from '../text/activity-acts.ts'
import type { Urls } from '../urls.ts'
import { type ActivityNames, proposalKey } from './activity-names.ts'
import { plural } from './dates.tsx'
import { aRole, roles } from './roles.tsx'
import { entryLink } from './talk.ts'
import { ViaName } from './via.tsx'

interface LinesProps {
  readonly urls: Urls
  readonly org: string
  readonly names: ActivityNames
}

/** One act, and what its sentence needs. */
interface Said extends LinesProps {
  readonly act: Act
  /** The newest event of the act. */
  readonly event: ActivityEvent
  readonly data: ActivityEvent['data']
  readonly count: number
}

/** Pages and checks that a line lists. */
const mostListed = 10

export function ActivityLines({ acts, ...shown }: LinesProps & { readonly acts: readonly Act[] }) {
  return (
    <Lines>
      {acts.map((act) => {
        const [event] = act.events
        const said = { ...shown, act, event, data: event.data, count: act.events.length }
        const { actor } = event.data
        return (
          <Line who={actor?.kind === 'user' ? whoOf(actor) : undefined} sign={signOf(event.type)} time={event.time}>
            <Sentence {...said} />
          </Line>
        )
      })}
    </Lines>
  )
}

function Sentence(said: Said) {
  const { event, data, count } = said
  const { activity } = eventCatalog[event.type]
  if (activity === undefined) return <p>{event.type}</p>
  const { says, saysUnknown = says, run } = activity
  const sentence = count > 1 && run?.says !== undefined ? run.says : data.actor === undefined ? saysUnknown : says
  const words = sentence.split(/[{}]/).map((part, at) => (at % 2 === 0 ? part : places[part as Place](said)))
  return count > 1 && run?.isOfPages ? <WithPages {...said}>{words}</WithPages> : <p>{words}</p>
}

function Who({ data: { actor, via } }: { readonly data: ActivityEvent['data'] }) {
  return (
    <>
      <strong>{whoOf(actor)}</strong>
      <ViaName via={via} />
    </>
  )
}

function whoOf(actor: ActivityEvent['data']['actor']): string {
  if (actor === undefined) return 'Somebody'
  if (actor.kind === 'operator') return 'The operator'
  if (actor.kind === 'service') return 'The service'
  return actor.name.trim() || 'A deleted user'
}

/** A sentence about several pages, with their list. */
function WithPages({ urls, org, names, act, count, children }: Said & { readonly children: ComponentChildren }) {
  const listed = act.events.slice(0, mostListed)
  return (
    <details>
      <summary>{children}</summary>
      <ul>
        {listed.map((one) => (
          <li>
            <ThePage {...{ urls, org, names }} event={one} />
          </li>
        ))}
        {count > listed.length && <li>and {(count - listed.length).toLocaleString('en')} more</li>}
      </ul>
    </details>
  )
}

type AtPage = Pick<Said, 'urls' | 'org' | 'names' | 'event'>

/** A link to the act's page, with its title. A deleted one has no link. */
function ThePage({ urls, org, names, event: { node } }: AtPage) {
  if (node === undefined) return <>several pages</>
  const title = names.pages[node]
  if (names.deleted.includes(node)) return title === undefined ? <>a deleted page</> : <em>{title}</em>
  return <a href={urls.node(org, node, title)}>{title ?? 'a page'}</a>
}

/** The proposal of the act. `entry`: leads to this comment or review. */
function Proposal({ urls, org, names, event: { node, data } }: AtPage) {
  const { number = 0, entry } = data
  const title = names.proposals[proposalKey(node, number)]
  const words = `#${number}${title === undefined ? '' : ` ${title}`}`
  if (node !== undefined && names.deleted.includes(node)) return <>proposal {words}</>
  const href = urls.proposal(org, node ?? org, number, names.pages[node ?? org])
  return (
    <>
      proposal <a href={entry === undefined ? href : `${href}${entryLink(entry)}`}>{words}</a>
    </>
  )
}

/** The proposal of several pages that the act is about. */
function ProposalOfPages({ urls, org, event: { data } }: AtPage) {
  const { number = 0, title = '', items = [] } = data
  return (
    <>
      the proposal <a href={urls.changeSet(org, number)}>{title || `#${number}`}</a> of {plural(items.length, 'page')}
    </>
  )
}

/** A branch, with a link to its history. */
function Branch({ urls, org, names, event: { node = '', data } }: AtPage) {
  const { name = '' } = data
  const shown = <span class="ref">{name}</span>
  return names.deleted.includes(node) ? shown : <a href={urls.history(org, node, name)}>{shown}</a>
}

/** The contents of each place in the sentences of the catalog of event types. */
const places: Readonly<Record<Place, (said: Said) => ComponentChildren>> = {
  who: Who,
  page: ThePage,
  proposal: Proposal,
  set: ProposalOfPages,
  branch: Branch,
  tag: ({ data }) => <span class="ref">{data.name}</span>,
  count: ({ count }) => count.toLocaleString('en'),
  times: ({ count }) => (count === 1 ? '' : ` ${count.toLocaleString('en')} times`),
  in_folder: ({ event }) => (event.via === 'path' ? ' in the data folder' : ''),
  changed_settings: changedOrg,
  added_member: ({ data }) => (data.actor?.id === data.user_id ? 'joined' : `added ${memberName(data.name)}`),
  role: ({ data }) => roleWords(data.role),
  changed_member: changedMember,
  removed_member: ({ data }) => (data.actor?.id === data.user_id ? 'left' : `removed ${memberName(data.name)}`),
  edited: editedPart,
  moved: movedBranch,
  draft: ({ data }) => data.is_draft === true && 'a draft: ',
  and_asked: ({ names, act: { asked } }) => asked.length > 0 && ` and asked ${reviewersOf(names, asked)} to review it`,
  target: TargetBranch,
  overridden: ({ data }) => data.overridden === true && ' in spite of the rules',
  erased_texts: (said) =>
    said.data.number === undefined ? (
      'texts of'
    ) : (
      <>
        the texts of <Proposal {...said} /> for
      </>
    ),
  reviewers: ({ names, data }) => reviewersOf(names, data.reviewers),
  reviewed: ({ data }) => verdicts[data.verdict ?? ''] ?? 'commented on',
  checks: reportedChecks,
  commit: Commit,
}

const verdicts: Readonly<Record<string, string>> = {
  approve: 'approved',
  request_changes: 'asked for changes in',
}

/** Verbs for changes of one part of a page. */
const parts: Readonly<Record<string, string>> = {
  title: 'renamed',
  tags: 'changed the tags of',
  properties: 'changed the properties of',
  files: 'changed the files of',
  edges: 'changed the links of',
}

function editedPart({ act }: Said): string {
  const changed = new Set(act.events.flatMap(({ data }) => data.changed ?? []))
  const [only = ''] = changed.size === 1 ? changed : []
  return parts[only] ?? 'edited'
}

function movedBranch({ act }: Said): string {
  const commits = act.events.reduce((sum, one) => sum + (one.data.commits ?? 0), 0)
  const isReplaced = commits === 0 || act.events.some((one) => one.data.forced === true)
  return isReplaced ? 'replaced' : `added ${plural(commits, 'commit')} to`
}

/** Nothing for `main`. */
function TargetBranch({ data: { target_branch: target } }: Said) {
  if (target === undefined || target === 'main') return null
  return (
    <>
      the branch <span class="ref">{target}</span> of{' '}
    </>
  )
}

function reportedChecks({ act }: Said): string {
  // The last report of each, in the order of the first ones.
  const states = new Map([...act.events].reverse().map((one) => [one.data.name, one.data.state]))
  const listed = [...states].slice(0, mostListed).map(([name, state]) => `${name}: ${state}`)
  const hidden = states.size - listed.length
  return listOf([...listed, ...(hidden > 0 ? [`${hidden} more`] : [])])
}

function Commit({ urls, org, names, event: { node = '' }, data: { commit } }: Said) {
  if (names.deleted.includes(node) || commit === undefined) return <>a commit</>
  return <a href={urls.commit(org, node, commit)}>a commit</a>
}

function changedMember({ data }: Said): string {
  const before = (data.before ?? {}) as { readonly role?: string; readonly name?: string } // the types of this event
  if (before.role === data.role) return `is now called ${memberName(data.name)}`
  const who = data.actor?.id === data.user_id ? 'themselves' : memberName(data.name)
  return `made ${who} ${roleWords(data.role)}`
}

function roleWords(role = ''): string {
  const known = roles.find((one) => one === role)
  return known === undefined ? role : aRole(known)
}

function memberName(name = ''): string {
  return name.trim() || 'a deleted user'
}

function reviewersOf(names: ActivityNames, ids: readonly string[] = []): string {
  return listOf(ids.map((id) => names.members[id] ?? 'a former member'))
}

/** Says what changed: one type, or settings. */
function changedOrg({ data }: Said): string {
  const { changed = [] } = data
  // The types of this event.
  const [before, after] = [data.before, data.after] as { readonly types?: Readonly<Record<string, string>> }[]
  const [name, ...others] = new Set([...Object.keys(before?.types ?? {}), ...Object.keys(after?.types ?? {})])
  if (changed.length !== 1 || name === undefined || others.length > 0)
    return `changed the settings: ${listOf(changed.map(settingName))}`
  if (before?.types?.[name] === undefined) return `defined the type ${name}`
  return `${after?.types?.[name] === undefined ? 'deleted' : 'changed'} the type ${name}`
}

const settings: Readonly<Record<string, string>> = {
  unknown_types: 'whether pages may have types that nobody defined',
  embeddings: 'search by meaning',
  home_node_id: 'the home page',
  published: 'publication',
  require_pull_requests: 'whether pages change only by proposals',
}

function settingName(field: string): string {
  return settings[field] ?? field
}

/** Joins words: `a`, `a and b`, `a, b and c`. */
function listOf(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
