/** The tool that creates a node. */

import { z } from 'zod'
import { own } from '../quoted.ts'
import { nodePage, sourceOf } from '../session.ts'
import { anyNodeId, orgId, tool } from '../tool.ts'

export const createNode = tool({
  name: 'create_node',
  title: 'Create a node',
  description:
    'Creates a node immediately. Existing nodes are not changed. If you pass an id, a repeated call is refused and does not create a second node.',
  access: 'write',
  operations: ['createNode'],
  input: z.strictObject({
    org_id: orgId,
    title: z.string().min(1).max(500),
    text: z.string().default('').describe('The text, as Markdown'),
    parents: z.array(anyNodeId).max(100).default([]).describe('Ids of the parent nodes'),
    tags: z.array(z.string().min(1).max(100)).max(100).default([]),
    id: anyNodeId.optional().describe('A random UUID for the node. Default: the service generates one'),
  }),
  run: async (session, { org_id, title, text, parents, tags, id }) => {
    const body = { title, text_content: text, parents, tags, ...(id === undefined ? {} : { id }) }
    const node = await session.api.createNode({ path: { org_id }, body })
    return [
      own`Node ${node.id} was created: ${nodePage(session, org_id, node.id)}`,
      own`Source: ${sourceOf(org_id, node.id, node.head)}`,
      ...(node.clone_url === undefined ? [] : [own`Clone URL: ${node.clone_url}`]),
    ].join('\n')
  },
})
