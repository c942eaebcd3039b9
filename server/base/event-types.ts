/**
 * The catalog of event types. A row has all words about a type: in the documents, the inbox and the activity.
 *
 * A new type is a row here and the code that derives or records it. `npm run generate` writes the list of the API
 * description and the table of spec/events.md.
 */

/** The nouns that types begin with. The form of a webhook offers those that have words. */
export const eventNouns = {
  log: undefined,
  node: 'Pages: created, changed, deleted, restored',
  branch: 'Branches',
  tag: 'Versions (tags)',
  pull_request: 'Proposals: opened, changed, merged, closed',
  change_set: 'Proposals of several pages: opened, changed, merged, closed',
  comment: 'Comments',
  text: undefined,
  thread: 'Threads: resolved, reopened',
  review: 'Reviews',
  suggestion: 'Suggestions that were applied',
  check: 'Checks',
  member: 'Members',
  org: 'The organisation itself',
  webhook: 'Webhooks that were turned on or off',
} as const

/** The tabs of the activity, next to the one that shows everything. */
export type ActivityTab = 'proposals' | 'edits' | 'people'

interface EventRow {
  /** When it is recorded, as a part of a sentence, in Markdown. */
  readonly when: string
  /** The fields of `data`, in Markdown. Parentheses mark fields that are absent if they do not apply or are unknown. */
  readonly data: string
  /** Anyone sees it if the organisation is published. `main`: only if its branch is `main`. Default: nobody. */
  readonly isPublic?: true | 'main'
  /** The act of its actor, as inboxes say it. Default: no inbox has the event. */
  readonly inbox?: string
  /** Only the inboxes of users whom it mentions have it. */
  readonly inboxIf?: 'mentioned'
  /** Default: the activity does not have it. */
  readonly activity?: {
    /** Default: only the tab that shows everything. */
    readonly tabs?: readonly ActivityTab[]
    /** A sentence. server/pages/parts/activity-lines.tsx has what stands for each place such as `{page}`. */
    readonly says: string
    /** The sentence if it is unknown who did it. Default: the other one, about somebody. */
    readonly saysUnknown?: string
    /** Consecutive events of one page and actor are one line. */
    readonly run?: {
      /** Fields of `data` that must be the same. */
      readonly same: readonly ('name' | 'number' | 'commit')[]
      /** The pages may differ, and are listed. */
      readonly isOfPages?: true
      /** The sentence about two or more events. Default: the other one. */
      readonly says?: string
    }
  }
}

const setFields = '`number`, `id`, `title`, `is_draft`, `items`'
const pullFields =
  '`number`, `id`, `title`, `source_branch`, `target_branch`, `is_draft`, `source_commit`, `target_commit`'

const rows = {
  'log.began': {
    when: 'the log begins, because the service is new or its log was lost. Earlier events are not in it',
    data: '`log_id`',
    activity: { says: 'The activity begins here. Earlier changes are in the history of each page.' },
  },
  'org.created': {
    when: 'an organisation is created',
    data: '`name`, `published`, `require_pull_requests`',
    activity: { says: '{who} created the organisation' },
  },
  'org.updated': {
    when: 'its name, its settings, its rules or its types change',
    data: '`changed`, `before`, `after`',
    inbox: 'changed the settings',
    activity: { says: '{who} {changed_settings}' },
  },
  'org.deleted': { when: 'it is deleted. This is the last event of its log', data: '' },
  'org.reset': {
    when: 'its history was replaced: read it again',
    data: '`before`, `after`',
    activity: { says: 'The organisation was replaced by another version in the data folder' },
  },
  'member.added': {
    when: 'a user becomes a member',
    data: '`user_id`, `name`, `role`',
    inbox: 'added a member',
    activity: { tabs: ['people'], says: '{who} {added_member} as {role}' },
  },
  'member.updated': {
    when: 'the role or the name of a member changes',
    data: '`user_id`, `name`, `role`, `before`',
    inbox: 'changed a member',
    activity: { tabs: ['people'], says: '{who} {changed_member}' },
  },
  'member.removed': {
    when: 'a member leaves or is removed',
    data: '`user_id`, `name`, `role`',
    inbox: 'removed a member',
    activity: { tabs: ['people'], says: '{who} {removed_member}' },
  },
  'node.created': {
    when: 'a node is created',
    data: '`title`, (`head`), `edges_added`, (`change_set`)',
    isPublic: true,
    inbox: 'created it',
    activity: {
      tabs: ['edits'],
      says: '{who} created {page}',
      saysUnknown: '{page} was created{in_folder}',
      run: { same: [], isOfPages: true, says: '{who} created {count} pages' },
    },
  },
  'node.updated': {
    when: '`main` of a node moves',
    data: '`before`, `after`, `changed`, `edges_added`, `edges_removed`',
    isPublic: true,
    inbox: 'changed it',
    activity: {
      tabs: ['edits'],
      says: '{who} {edited} {page}{times}',
      saysUnknown: '{page} was changed{times}{in_folder}',
      run: { same: [] },
    },
  },
  'node.deleted': {
    when: 'a node is deleted',
    data: '(`title`)',
    isPublic: true,
    inbox: 'deleted it',
    activity: { tabs: ['edits'], says: '{who} deleted {page}', saysUnknown: '{page} was deleted{in_folder}' },
  },
  'node.restored': {
    when: 'a deleted node is restored',
    data: '`title`, (`head`)',
    isPublic: true,
    inbox: 'restored it',
    activity: { tabs: ['edits'], says: '{who} restored {page}', saysUnknown: '{page} was restored{in_folder}' },
  },
  'node.reset': {
    when: 'the history of its pull requests was replaced: read the node again',
    data: '`before`, `after`',
    inbox: 'replaced its history',
    activity: {
      tabs: ['edits'],
      says: 'The proposals of {page} were replaced by another version in the data folder',
    },
  },
  'branch.created': { when: 'a branch is created', data: '`name`, `after`, (`head`)', isPublic: 'main' },
  'branch.updated': {
    when: 'a branch moves. `forced`: the earlier head is not an ancestor',
    data: '`name`, `before`, `after`, `forced`, (`commits`), (`head`)',
    isPublic: 'main',
    activity: {
      says: '{who} {moved} the branch {branch} of {page}',
      saysUnknown: 'The branch {branch} of {page} was moved{in_folder}',
      run: { same: ['name'] },
    },
  },
  'branch.deleted': { when: 'a branch is deleted', data: '`name`, `before`', isPublic: 'main' },
  'tag.created': {
    when: 'a Git tag is created',
    data: '`name`, `after`',
    isPublic: true,
    inbox: 'tagged a version',
    activity: {
      tabs: ['edits'],
      says: '{who} created the Git tag {tag} of {page}',
      saysUnknown: 'The Git tag {tag} of {page} was created{in_folder}',
    },
  },
  'tag.updated': {
    when: 'a Git tag moves',
    data: '`name`, `before`, `after`',
    isPublic: true,
    activity: {
      tabs: ['edits'],
      says: '{who} moved the Git tag {tag} of {page}',
      saysUnknown: 'The Git tag {tag} of {page} was moved{in_folder}',
    },
  },
  'tag.deleted': {
    when: 'a Git tag is deleted',
    data: '`name`, `before`',
    isPublic: true,
    activity: {
      tabs: ['edits'],
      says: '{who} deleted the Git tag {tag} of {page}',
      saysUnknown: 'The Git tag {tag} of {page} was deleted{in_folder}',
    },
  },
  'pull_request.opened': {
    when: 'a pull request is opened',
    data: pullFields,
    inbox: 'opened it',
    activity: { tabs: ['proposals'], says: '{who} opened {draft}{proposal} for {page}{and_asked}' },
  },
  'pull_request.edited': {
    when: 'its title, description, target branch or draft state changes',
    data: pullFields,
    activity: { tabs: ['proposals'], says: '{who} changed the description of {proposal} for {page}' },
  },
  'pull_request.updated': {
    when: 'its source branch moves',
    data: '`number`, `id`, `title`, `before`, `after`',
    inbox: 'changed its text',
    activity: {
      tabs: ['proposals'],
      says: '{who} added commits to {proposal} for {page}',
      saysUnknown: 'The branch of {proposal} for {page} was moved{in_folder}',
      run: { same: ['number'] },
    },
  },
  'pull_request.closed': {
    when: 'it is closed without a merge',
    data: pullFields,
    inbox: 'closed it',
    activity: { tabs: ['proposals'], says: '{who} closed {proposal} for {page}' },
  },
  'pull_request.reopened': {
    when: 'it is opened again',
    data: pullFields,
    inbox: 'reopened it',
    activity: { tabs: ['proposals'], says: '{who} reopened {proposal} for {page}' },
  },
  'pull_request.merged': {
    when: 'it is merged',
    data: `${pullFields}, (\`overridden\`)`,
    inbox: 'merged it',
    activity: { tabs: ['edits', 'proposals'], says: '{who} merged {proposal} into {target}{page}{overridden}' },
  },
  'change_set.opened': {
    when: 'a change set is opened',
    data: setFields,
    inbox: 'opened it',
    activity: { tabs: ['proposals'], says: '{who} opened {draft}{set}' },
  },
  'change_set.edited': {
    when: 'its title, description, pages, reviewers or draft state change',
    data: setFields,
    inbox: 'changed it',
    activity: { tabs: ['proposals'], says: '{who} changed {set}', run: { same: ['number'] } },
  },
  'change_set.closed': {
    when: 'it is closed without a merge',
    data: setFields,
    inbox: 'closed it',
    activity: { tabs: ['proposals'], says: '{who} closed {set}' },
  },
  'change_set.reopened': {
    when: 'it is opened again',
    data: setFields,
    inbox: 'reopened it',
    activity: { tabs: ['proposals'], says: '{who} reopened {set}' },
  },
  'change_set.merged': {
    when: 'it is merged. The events of its pages come before, in the same transaction',
    data: `${setFields}, (\`overridden\`)`,
    inbox: 'merged it',
    activity: { tabs: ['edits', 'proposals'], says: '{who} merged {set}{overridden}' },
  },
  'comment.created': {
    when: 'a comment is written',
    data: '`number`, `entry`, `thread`, (`path`), `mentions`, `has_suggestion`',
    inbox: 'commented',
    activity: {
      tabs: ['proposals'],
      says: '{who} commented on {proposal} for {page}',
      run: { same: ['number'], says: '{who} wrote {count} comments on {proposal} for {page}' },
    },
  },
  'comment.edited': {
    when: 'a comment is changed',
    data: '`number`, `entry`, `thread`, (`path`), `mentions`',
    inbox: 'edited a comment',
    inboxIf: 'mentioned',
  },
  'comment.deleted': { when: 'a comment is deleted', data: '`number`, `entry`, `thread`, (`path`)' },
  'comment.erased': {
    when: 'the text of a comment or review is erased from Git',
    data: '`number`, `entry`',
    activity: {
      tabs: ['proposals'],
      says: '{who} erased a text of {proposal} for {page}',
      run: { same: ['number'], says: '{who} erased {count} texts of {proposal} for {page}' },
    },
  },
  'text.erased': {
    when: 'other texts are erased from Git: of a pull request, a head or a user',
    data: 'one of (`number`), (`head`), (`user_id`)',
    activity: { tabs: ['proposals'], says: '{who} erased {erased_texts} {page}' },
  },
  'thread.resolved': {
    when: 'a thread is resolved',
    data: '`number`, `entry`, `thread`, (`path`)',
    inbox: 'resolved a thread',
    activity: { tabs: ['proposals'], says: '{who} resolved a thread of {proposal} for {page}' },
  },
  'thread.reopened': {
    when: 'a resolved thread is opened again',
    data: '`number`, `entry`, `thread`, (`path`)',
    inbox: 'reopened a thread',
    activity: {
      tabs: ['proposals'],
      says: '{who} reopened a thread of {proposal} for {page}',
      saysUnknown: 'A thread of {proposal} for {page} was reopened',
    },
  },
  'review.requested': {
    when: 'a review is requested from users',
    data: '`number`, `id`, `title`, `reviewers`',
    inbox: 'asked for a review',
    activity: { tabs: ['proposals'], says: '{who} asked {reviewers} to review {proposal} for {page}' },
  },
  'review.submitted': {
    when: 'a review is submitted',
    data: '`number`, `entry`, `verdict`, `commit`, `comments`',
    inbox: 'reviewed it',
    activity: { tabs: ['proposals'], says: '{who} {reviewed} {proposal} for {page}' },
  },
  'review.withdrawn': {
    when: 'its author withdraws a verdict',
    data: '`number`, `entry`',
    inbox: 'withdrew a review',
    activity: { tabs: ['proposals'], says: '{who} withdrew a review of {proposal} for {page}' },
  },
  'review.dismissed': {
    when: 'a maintainer dismisses a verdict',
    data: '`number`, `entry`',
    inbox: 'dismissed a review',
    activity: { tabs: ['proposals'], says: '{who} dismissed a review of {proposal} for {page}' },
  },
  'suggestion.applied': {
    when: 'suggestions are applied to the source branch',
    data: '`number`, `entry`, `thread`, (`path`), `commit`',
    inbox: 'applied a suggestion',
    activity: {
      tabs: ['proposals'],
      says: '{who} applied a suggestion to {proposal} for {page}',
      run: { same: ['number'], says: '{who} applied {count} suggestions to {proposal} for {page}' },
    },
  },
  'check.reported': {
    when: 'a check of a commit is reported',
    data: '`commit`, `name`, `state`, (`url`)',
    activity: {
      tabs: ['proposals'],
      says: '{who} reported {checks} on {commit} of {page}',
      run: { same: ['commit'] },
    },
  },
  'webhook.disabled': { when: 'a webhook is disabled', data: '`webhook_id`, `reason`' },
  'webhook.enabled': { when: 'a webhook is enabled again', data: '`webhook_id`' },
} as const satisfies Record<`${keyof typeof eventNouns}.${string}`, EventRow>

export type EventType = keyof typeof rows

export const eventCatalog: Readonly<Record<EventType, EventRow>> = rows

export const eventTypes = Object.keys(rows) as readonly EventType[] // they are its keys

/** True if a pattern names the type. A pattern is a type, all types of a noun such as `pull_request.*`, or `*` for all. */
export function isNamed(type: string, pattern: string): boolean {
  if (pattern === '*' || pattern === type) return true
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))
}

type Activity = Extract<(typeof rows)[EventType], { activity: unknown }>['activity']
type Sentence =
  | Activity['says']
  | Extract<Activity, { saysUnknown: string }>['saysUnknown']
  | Extract<Activity, { run: { says: string } }>['run']['says']
type PlacesOf<Words> = Words extends `${string}{${infer Place}}${infer Rest}` ? Place | PlacesOf<Rest> : never

/** The names in braces of all sentences. */
export type Place = PlacesOf<Sentence>
