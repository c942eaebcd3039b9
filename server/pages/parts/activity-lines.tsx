/** The lines of the activity: sentences about acts, with links. */

import type { ComponentChildren } from 'preact'
import type { Act, ActivityEvent, ActivityType } from '../text/activity-acts.ts'
import type { Urls } from '../urls.ts'
import { type ActivityNames, proposalKey } from './activity-names.ts'
import { plural, When } from './dates.tsx'
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
    <ul class="recent">
      {acts.map((act) => {
        const [event] = act.events
        const said = { ...shown, act, event, data: event.data, count: act.events.length }
        return (
          <li>
            <Line {...said} />
            <small>
              <When time={event.time} />
            </small>
          </li>
        )
      })}
    </ul>
  )
}

function Line(said: Said) {
  const { event, count } = said
  const about = sentences[event.type]
  if (event.type === 'node.created' && count > 1) return <CreatedPages {...said} />
  if (about === undefined) return <p>{event.type}</p>
  const unknown = event.data.actor === undefined ? passive[event.type] : undefined
  if (unknown !== undefined) return <p>{unknown(said)}</p>
  return (
    <p>
      {!impersonal.includes(event.type) && (
        <>
          <Who data={event.data} />{' '}
        </>
      )}
      {about(said)}
    </p>
  )
}

/** Sentences without a subject: nobody did it. */
const impersonal: readonly ActivityType[] = ['log.began', 'org.reset', 'node.reset']

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

function CreatedPages({ urls, org, names, act, event, count }: Said) {
  const listed = act.events.slice(0, mostListed)
  return (
    <details>
      <summary>
        <Who data={event.data} /> created {plural(count, 'page')}
      </summary>
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
function ThePage({ urls, org, names, event: { node = '' } }: AtPage) {
  const title = names.pages[node]
  if (names.deleted.includes(node)) return title === undefined ? <>a deleted page</> : <em>{title}</em>
  return <a href={urls.node(org, node, title)}>{title ?? 'a page'}</a>
}

/** The proposal of the act. `entry`: leads to this comment or review. */
function Proposal({ urls, org, names, event: { node = '', data } }: AtPage) {
  const { number = 0, entry } = data
  const title = names.proposals[proposalKey(node, number)]
  const words = `#${number}${title === undefined ? '' : ` ${title}`}`
  if (names.deleted.includes(node)) return <>proposal {words}</>
  const href = urls.proposal(org, node, number, names.pages[node])
  return (
    <>
      proposal <a href={entry === undefined ? href : `${href}${entryLink(entry)}`}>{words}</a>
    </>
  )
}

/** A branch, with a link to its history. */
function Branch({ urls, org, names, event: { node = '', data } }: AtPage) {
  const { name = '' } = data
  const shown = <span class="ref">{name}</span>
  return names.deleted.includes(node) ? shown : <a href={urls.history(org, node, name)}>{shown}</a>
}

type Say = (said: Said) => ComponentChildren

/** Returns a sentence about a proposal, such as "closed proposal #7 Title for Page". */
const toProposal =
  (act: string | ((said: Said) => string), after = 'for'): Say =>
  (said) => (
    <>
      {typeof act === 'string' ? act : act(said)} <Proposal {...said} /> {after} <ThePage {...said} />
    </>
  )

/** Returns a sentence about a page, such as "deleted Page". */
const toPage =
  (act: string): Say =>
  (said) => (
    <>
      {act} <ThePage {...said} />
    </>
  )

/** The predicates, which follow the name of the user. */
const sentences: Partial<Record<ActivityType, Say>> = {
  'log.began': () => 'The activity begins here. Earlier changes are in the history of each page.',
  'org.created': () => 'created the organisation',
  'org.updated': changedOrg,
  'org.reset': () => 'The organisation was replaced by another version in the data folder',
  'member.added': addedMember,
  'member.updated': changedMember,
  'member.removed': ({ data }) => (data.actor?.id === data.user_id ? 'left' : `removed ${memberName(data.name)}`),
  'node.created': toPage('created'),
  'node.updated': updatedPage,
  'node.deleted': toPage('deleted'),
  'node.restored': toPage('restored'),
  'node.reset': (said) => (
    <>
      The proposals of <ThePage {...said} /> were replaced by another version in the data folder
    </>
  ),
  'branch.updated': movedBranch,
  'tag.created': toTag('created'),
  'tag.updated': toTag('moved'),
  'tag.deleted': toTag('deleted'),
  'pull_request.opened': openedProposal,
  'pull_request.edited': toProposal('changed the description of'),
  'pull_request.updated': toProposal('added commits to'),
  'pull_request.closed': toProposal('closed'),
  'pull_request.reopened': toProposal('reopened'),
  'pull_request.merged': mergedProposal,
  'comment.created': toProposal(({ count }) => (count === 1 ? 'commented on' : `wrote ${count} comments on`)),
  'comment.erased': toProposal(({ count }) => `erased ${count === 1 ? 'a text' : `${count} texts`} of`),
  'text.erased': (said) =>
    said.data.number === undefined ? toPage('erased texts of')(said) : toProposal('erased the texts of')(said),
  'thread.resolved': toProposal('resolved a thread of'),
  'thread.reopened': toProposal('reopened a thread of'),
  'review.requested': (said) => (
    <>
      asked {reviewersOf(said, said.data.reviewers)} to review <Proposal {...said} /> for <ThePage {...said} />
    </>
  ),
  'review.submitted': toProposal(({ data }) => verdicts[data.verdict ?? ''] ?? 'reviewed'),
  'review.withdrawn': toProposal('withdrew a review of'),
  'review.dismissed': toProposal('dismissed a review of'),
  'suggestion.applied': toProposal(
    ({ count }) => `applied ${count === 1 ? 'a suggestion' : `${count} suggestions`} to`,
  ),
  'check.reported': reportedChecks,
}

/** Whole sentences for acts of unknown users. */
const passive: Partial<Record<ActivityType, Say>> = {
  'node.created': (said) => (
    <>
      <ThePage {...said} /> was created{inFolder(said)}
    </>
  ),
  'node.updated': (said) => (
    <>
      <ThePage {...said} /> was changed{timesOf(said.count)}
      {inFolder(said)}
    </>
  ),
  'node.deleted': (said) => (
    <>
      <ThePage {...said} /> was deleted{inFolder(said)}
    </>
  ),
  'node.restored': (said) => (
    <>
      <ThePage {...said} /> was restored{inFolder(said)}
    </>
  ),
  'branch.updated': (said) => (
    <>
      The branch <Branch {...said} /> of <ThePage {...said} /> was moved{inFolder(said)}
    </>
  ),
  'tag.created': lostTag('created'),
  'tag.updated': lostTag('moved'),
  'tag.deleted': lostTag('deleted'),
  'pull_request.updated': (said) => (
    <>
      The branch of <Proposal {...said} /> for <ThePage {...said} /> was moved{inFolder(said)}
    </>
  ),
  'thread.reopened': (said) => (
    <>
      A thread of <Proposal {...said} /> for <ThePage {...said} /> was reopened
    </>
  ),
}

function inFolder({ event }: Said): string {
  return event.via === 'path' ? ' in the data folder' : ''
}

function timesOf(count: number): string {
  return count === 1 ? '' : ` ${count.toLocaleString('en')} times`
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

function updatedPage(said: Said) {
  const { act, count } = said
  const changed = new Set(act.events.flatMap(({ data }) => data.changed ?? []))
  const [only = ''] = changed.size === 1 ? changed : []
  return (
    <>
      {parts[only] ?? 'edited'} <ThePage {...said} />
      {timesOf(count)}
    </>
  )
}

function movedBranch(said: Said) {
  const { act } = said
  const commits = act.events.reduce((sum, one) => sum + (one.data.commits ?? 0), 0)
  const isReplaced = commits === 0 || act.events.some((one) => one.data.forced === true)
  return (
    <>
      {isReplaced ? 'replaced' : `added ${plural(commits, 'commit')} to`} the branch <Branch {...said} /> of{' '}
      <ThePage {...said} />
    </>
  )
}

function toTag(verb: string): Say {
  return (said) => (
    <>
      {verb} the Git tag <span class="ref">{said.data.name}</span> of <ThePage {...said} />
    </>
  )
}

function lostTag(done: string): Say {
  return (said) => (
    <>
      The Git tag <span class="ref">{said.data.name}</span> of <ThePage {...said} /> was {done}
      {inFolder(said)}
    </>
  )
}

function openedProposal(said: Said) {
  const { act, data } = said
  return (
    <>
      opened {data.is_draft === true && 'a draft: '}
      <Proposal {...said} /> for <ThePage {...said} />
      {act.asked.length > 0 && ` and asked ${reviewersOf(said, act.asked)} to review it`}
    </>
  )
}

function mergedProposal(said: Said) {
  const { target_branch: target, overridden = false } = said.data
  return (
    <>
      merged <Proposal {...said} /> into{' '}
      {target !== undefined && target !== 'main' && (
        <>
          the branch <span class="ref">{target}</span> of{' '}
        </>
      )}
      <ThePage {...said} />
      {overridden && ' in spite of the rules'}
    </>
  )
}

function reportedChecks(said: Said) {
  const { urls, org, names, act, event, data } = said
  const { node = '' } = event
  // The last report of each, in the order of the first ones.
  const states = new Map([...act.events].reverse().map((one) => [one.data.name, one.data.state]))
  const listed = [...states].slice(0, mostListed).map(([name, state]) => `${name}: ${state}`)
  const hidden = states.size - listed.length
  const isGone = names.deleted.includes(node) || data.commit === undefined
  return (
    <>
      reported {listOf([...listed, ...(hidden > 0 ? [`${hidden} more`] : [])])} on{' '}
      {isGone ? 'a commit' : <a href={urls.commit(org, node, data.commit ?? '')}>a commit</a>} of <ThePage {...said} />
    </>
  )
}

function addedMember({ data }: Said): string {
  const role = `as ${roleWords(data.role)}`
  return data.actor?.id === data.user_id ? `joined ${role}` : `added ${memberName(data.name)} ${role}`
}

function changedMember({ data }: Said): string {
  const before = (data.before ?? {}) as { readonly role?: string; readonly name?: string } // the types of this event
  if (before.role === data.role) return `is now called ${memberName(data.name)}`
  const who = data.actor?.id === data.user_id ? 'themselves' : memberName(data.name)
  return `made ${who} ${roleWords(data.role)}`
}

function roleWords(role = ''): string {
  const known = roles.find((one) => one.role === role)
  return known === undefined ? role : aRole(known.role)
}

function memberName(name = ''): string {
  return name.trim() || 'a deleted user'
}

function reviewersOf({ names }: Said, ids: readonly string[] = []): string {
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
