/** The tool that comments on a proposal. No tool approves, resolves or merges. */

import { v5 as hashedId } from 'uuid'
import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import { own } from '../quoted.ts'
import { factsOf, ToolError } from '../refusals.ts'
import { proposalPage, type Session } from '../session.ts'
import { entryNumber, nodeId, orgId, proposalNumber, tool } from '../tool.ts'

/** The namespace of the ids of comments (RFC 9562, section 5.5). */
const namespace = '7c1f4d7e-52a0-4c39-9d0e-2b6a3f8e5d14'

/** The most attempts while the source branch is being rewritten. */
const mostTries = 3

/** The place of a new thread, in the input of a tool. */
export const placeInput = {
  path: z.string().min(1).max(1_024).optional().describe('Start a thread on this file of the proposed content'),
  quote: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('The words of that file that the thread is about, exactly as they are in the file'),
  first_line: z.int().min(1).max(1_000_000).optional().describe('The line of that file, counted from 1'),
  num_lines: z
    .int()
    .min(1)
    .max(limits.anchorLines)
    .optional()
    .describe('The number of lines from first_line. Default: 1'),
}

const input = z.strictObject({
  org_id: orgId,
  node_id: nodeId,
  number: proposalNumber,
  text: z.string().min(1).max(limits.commentBytes).describe('The comment, as Markdown'),
  thread: entryNumber.optional().describe('Answer this thread, from read_discussion. Leave out path, quote and lines'),
  ...placeInput,
})

interface Asked extends z.infer<typeof input> {
  readonly suggestion?: string
}

export const comment = tool({
  name: 'comment',
  title: 'Comment on a proposal',
  description:
    'Comments on a proposal (pull request), in the name of the owner of the token. Answers a thread, or starts one. A new thread is about the whole proposal, a file (`path`), words of it (`quote`) or lines of it (`first_line`). A repeated call returns the existing comment. A comment does not approve or change anything.',
  access: 'write',
  isIdempotent: true,
  operations: ['createComment', 'getPull', 'getComment'],
  input,
  run: async (session, asked) => {
    requirePlace(asked)
    return remark(session, asked)
  },
  where: (_, loc) => whereOf(loc),
})

/** Returns the part of a tool's input that the API names by this `loc`. */
export function whereOf(loc: readonly (string | number)[]): string {
  return loc.filter((step) => !['body', 'anchor', 'exact'].includes(String(step))).join('.')
}

/** Writes a comment, and says where it is. @throws the errors of write */
export async function remark(session: Session, asked: Asked): Promise<string> {
  const written = await write(session, asked)
  const { org_id, node_id, number } = asked
  const { entry, thread, anchor, edited_at, applied_commit } = written
  return [
    own`Comment ${entry} of proposal ${number} of node ${node_id}: ${proposalPage(session, org_id, node_id, number)}`,
    `${own`Its thread is ${thread}.`}${anchor?.first_line === undefined ? '' : own` It is about line ${anchor.first_line}, ${anchor.num_lines ?? 1} lines long, of commit ${anchor.commit}.`}`,
    ...(edited_at === undefined ? [] : ['Its text was changed since.']),
    ...(applied_commit === undefined ? [] : [own`Its suggestion is applied in commit ${applied_commit}.`]),
  ].join('\n')
}

type Place = Pick<Asked, 'thread' | 'path' | 'quote' | 'first_line' | 'num_lines'>

/** @throws ToolError */
export function requirePlace({ thread, path, quote, first_line, num_lines }: Place): void {
  const hasLines = first_line !== undefined || num_lines !== undefined || quote !== undefined
  if (thread !== undefined && (path !== undefined || hasLines))
    throw new ToolError(422, 'invalid', 'An answer has the place of its thread. Leave out path, quote and lines')
  if (path === undefined && hasLines)
    throw new ToolError(422, 'invalid', 'Pass path, the file that has these words or lines')
}

/** @throws ToolError busy, comment_exists, comment_deleted; the errors of the API */
async function write(session: Session, asked: Asked): Promise<Output<'getComment'>> {
  const { org_id, node_id, number, text, suggestion, thread } = asked
  const { key, userId } = await session.caller()
  const id = idOf(key, asked)
  const path = { org_id, node_id, number }
  for (let tries = 1; ; tries++) {
    const anchor = await anchorOf(session, asked)
    const body = {
      ...{ id, text },
      ...(suggestion !== undefined && { suggestion }),
      ...(thread !== undefined && { thread }),
      ...(anchor && { anchor }),
    }
    try {
      return await session.api.createComment({ path, body })
    } catch (error) {
      const { code, entry } = factsOf(session, error)
      if (code === 'comment_exists' && entry !== undefined) return findWritten(session, { ...path, entry }, id, userId)
      if (code !== 'head_moved') throw error
      if (tries === mostTries) throw new ToolError(503, 'busy', 'The source branch of the proposal is being rewritten')
    }
  }
}

/** Returns an id for what is said, so that a repeated call finds it. The commit is not a part, because branches move. */
function idOf(caller: string, asked: Asked): string {
  const { node_id, number, text, suggestion, thread, path, quote, first_line, num_lines } = asked
  const place = [thread, path, quote, first_line, num_lines].map((part) => part ?? null)
  return hashedId(
    JSON.stringify([
      caller,
      node_id.toLowerCase(),
      number,
      ...place,
      text,
      ...(suggestion === undefined ? [] : [suggestion]),
    ]),
    namespace,
  )
}

/** The place in the current head of the proposal. Undefined for an answer, and for the whole proposal. */
async function anchorOf({ api }: Session, { org_id, node_id, number, path, quote, first_line, num_lines }: Asked) {
  if (path === undefined) return undefined
  const { pr } = await api.getPull({ path: { org_id, node_id, number } })
  return {
    ...{ commit: pr.source_commit, path },
    ...(quote !== undefined && { quote: { exact: quote } }),
    ...(first_line !== undefined && { first_line }),
    ...(num_lines !== undefined && { num_lines }),
  }
}

interface EntryPath {
  readonly org_id: string
  readonly node_id: string
  readonly number: number
  readonly entry: number
}

/** Reads the comment that an earlier call has written. @throws ToolError comment_exists, comment_deleted */
async function findWritten(session: Session, path: EntryPath, id: string, userId: string | undefined) {
  const found = await session.api.getComment({ path })
  const isOwn = found.id === id && (userId === undefined || found.author_id === userId)
  if (!isOwn)
    throw new ToolError(
      409,
      'comment_exists',
      'Another user has taken the id of this comment. Word the text differently',
    )
  if (found.deleted_at === undefined && found.erased_at === undefined) return found
  const { org_id, node_id, number, entry } = path
  const page = proposalPage(session, org_id, node_id, number)
  const verb = found.erased_at === undefined ? 'deleted' : 'erased'
  throw new ToolError(409, 'comment_deleted', `${own`Comment ${entry} said the same and was `}${verb}: ${page}`)
}
