/** The tools that show the commits of a node and the diff between two revisions. */

import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import { answer, list } from '../answer.ts'
import { asItem, brief, cleaned, own } from '../quoted.ts'
import { sourcesOf } from '../session.ts'
import { branch, maxChars, nodeId, offset, orgId, pageOf, revision, tool } from '../tool.ts'

const shownMessage = 500
const shownName = 120
const shownPath = 300
/** Share of an answer for one file. */
const entityShare = 0.6

type EntityDiff = NonNullable<Output<'compareCommits'>['text']>['entities'][number]

export const history = tool({
  name: 'history',
  title: 'History of a node',
  description:
    'Lists the commits of a node, newest first: id, author, time, message. `path` limits the list to commits that changed this file.',
  access: 'read',
  operations: ['listCommits'],
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId,
    branch: branch.default('main'),
    path: z.string().min(1).max(1_024).optional().describe('Only commits that changed this file'),
    offset,
    limit: pageOf(50),
    max_chars: maxChars,
  }),
  run: async ({ api }, { org_id, node_id, branch, path, offset, limit, max_chars }) => {
    const query = { offset, limit, ...(path === undefined ? {} : { path }) }
    const { history, total } = await api.listCommits({ path: { org_id, node_id, branch }, query })
    const items = history.map(({ id, author, created_at, message }) =>
      asItem({
        commit: id,
        author: brief(author, shownName),
        created_at,
        message: brief(message, shownMessage),
      }),
    )
    const rest = (next: number) => `call again with offset: ${next}`
    return answer(
      max_chars,
      [own`Commits: ${total}.`, ...(items.length > 0 ? [sourcesOf(org_id, node_id)] : [])],
      [list({ of: 'commits', items, total, offset, rest })],
    )
  },
})

export const diff = tool({
  name: 'diff',
  title: 'Difference of two revisions',
  description:
    'Shows the changes of `head` since it diverged from `base`, file by file, with the changed lines. `base` and `head` are each a branch, tag or full commit id. To see what a proposal changes, pass its branch as `head`.',
  access: 'read',
  operations: ['compareCommits'],
  input: z.strictObject({
    org_id: orgId,
    node_id: nodeId,
    base: branch.default('main'),
    head: revision.describe('A branch, a Git tag or a full commit id'),
    path: z.string().min(1).max(1_024).optional().describe('Only this file'),
    max_chars: maxChars,
  }),
  run: async ({ api }, { org_id, node_id, base, head, path, max_chars }) => {
    const query = { base, head, text: 'true' as const, ...(path === undefined ? {} : { path }) }
    const found = await api.compareCommits({ path: { org_id, node_id }, query })
    const { base_commit, head_commit, commits_ahead, commits_behind, text } = found
    const lead = [
      own`Base ${base_commit}, head ${head_commit}: ${commits_ahead} commits ahead, ${commits_behind} behind.`,
      own`Files that differ: ${text?.total ?? 0}.`,
    ]
    return answer(max_chars, lead, [entitiesOf(text, max_chars)])
  },
})

/** Lists the files of a comparison, with their changed lines. */
export function entitiesOf(text: Output<'getPullDiff'> | undefined, chars: number) {
  const most = Math.floor(chars * entityShare)
  const items = (text?.entities ?? []).map((entity) => entityItem(entity, most))
  const rest = () => 'call diff with the path of one'
  return list({ of: 'files', items, total: text?.total ?? 0, rest })
}

const signs = { context: ' ', added: '+', removed: '-' } as const

/** Writes a line of facts, then as many lines of a unified diff as fit. */
function entityItem(entity: EntityDiff, chars: number): string {
  const { entity_key, old_entity_key, change, additions, deletions, binary, too_large } = entity
  const path = brief(entity_key, shownPath)
  const was = old_entity_key === undefined ? undefined : brief(old_entity_key, shownPath)
  const head = asItem({ path, was, change, additions, deletions, binary, too_large })
  let text = head
  let left = 0
  for (const { old_start, old_lines, new_start, new_lines, lines } of entity.hunks ?? [])
    for (const line of [
      `@@ -${old_start},${old_lines} +${new_start},${new_lines} @@`,
      ...lines.map(({ kind, text }) => signs[kind] + cleaned(text)),
    ]) {
      if (left > 0 || text.length + line.length + 1 > chars) left++
      else text += `\n${line}`
    }
  return left === 0 ? text : `${text}\n${asItem({ lines_left_out: left })}`
}
