/** The table of all tools, and the tools of a token. */

import { operations } from '../../../spec/client/operations.ts'
import type { Access, Session } from '../session.ts'
import type { Tool } from '../tool.ts'
import { comment } from './comment.ts'
import { createNode } from './create-node.ts'
import { readDiscussion } from './discussion.ts'
import { diff, history } from './history.ts'
import { listNodes } from './list-nodes.ts'
import { listProperties } from './list-properties.ts'
import { listProposals } from './list-proposals.ts'
import { listTypes } from './list-types.ts'
import { listOrganisations, listTrash, neighbours } from './lists.ts'
import { connect, proposeChange } from './proposals.ts'
import { proposeChanges } from './propose-changes.ts'
import { readNode } from './read-node.ts'
import { search } from './search.ts'
import { suggest } from './suggest.ts'
import { waiting } from './waiting.ts'

export const tools: readonly Tool[] = [
  listOrganisations,
  search,
  readNode,
  listNodes,
  listProperties,
  listTypes,
  neighbours,
  history,
  diff,
  listProposals,
  readDiscussion,
  waiting,
  listTrash,
  proposeChange,
  proposeChanges,
  createNode,
  connect,
  comment,
  suggest,
]

/** The levels that each access includes. */
const included: Readonly<Record<Access, readonly Access[]>> = {
  read: ['read'],
  propose: ['read', 'propose'],
  write: ['read', 'propose', 'write'],
}

/** Returns the tools that the token can use. It is refused by operations without the ids that limit it. */
export function toolsFor({ access, orgId, nodeId }: Pick<Session, 'access' | 'orgId' | 'nodeId'>): readonly Tool[] {
  const bound = nodeId !== undefined ? '{node_id}' : orgId !== undefined ? '{org_id}' : ''
  // A tool of the organisation may also read single nodes.
  const reaches = ({ operations: asked }: Tool) =>
    nodeId === undefined ? asked.some((id) => operations[id].includes(bound)) : operations[asked[0]].includes(bound)
  return tools.filter((tool) => included[access].includes(tool.access) && reaches(tool))
}

/** Returns the access that a message needs. Undefined: it calls no tool. */
export function accessOfCall(message: unknown): Access | undefined {
  const { method, params }: { method?: unknown; params?: { name?: unknown } | null } = Object(message)
  const called = method === 'tools/call' ? tools.find(({ name }) => name === params?.name) : undefined
  return called?.access
}
