/** The tools, in one table, and which of them a token has. */

import type { Session } from './session.ts'
import type { Tool } from './tool.ts'
import { createNode } from './tools/create-node.ts'
import { diff, history } from './tools/history.ts'
import { listNodes, neighbours } from './tools/lists.ts'
import { listOrganisations } from './tools/organisations.ts'
import { connect, proposeChange } from './tools/proposals.ts'
import { readNode } from './tools/read-node.ts'
import { search } from './tools/search.ts'

export const tools: readonly Tool[] = [
  listOrganisations,
  search,
  readNode,
  listNodes,
  neighbours,
  history,
  diff,
  proposeChange,
  createNode,
  connect,
]

export function toolsFor({ canWrite }: Pick<Session, 'canWrite'>): readonly Tool[] {
  return tools.filter(({ writes }) => canWrite || !writes)
}
