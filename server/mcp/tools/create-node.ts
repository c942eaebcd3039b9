/** The tool that creates a node. */

import { z } from 'zod'
import * as limits from '../../base/limits.ts'
import { own } from '../quoted.ts'
import { nodePage, sourceOf } from '../session.ts'
import { connectionType, nodeId, orgId, properties, tool } from '../tool.ts'

const mostConnections = 100

export const createNode = tool({
  name: 'create_node',
  title: 'Create a node',
  description:
    'Creates a node immediately. Existing nodes are not changed. If its type is strict, a node that breaks a rule is refused, with one line for each field. If you pass an id, a repeated call is refused and does not create a second node.',
  access: 'write',
  operations: ['createNode'],
  input: z.strictObject({
    org_id: orgId,
    title: z.string().min(1).max(limits.title),
    text: z.string().optional().describe('The text, as Markdown'),
    parents: z.array(nodeId).max(100).default([]).describe('Ids of the parent nodes'),
    tags: z.array(z.string().min(1).max(limits.tag)).max(limits.tags).optional(),
    properties: properties
      .optional()
      .describe('Properties, such as {"type": "recipe", "serves": 4}. list_types has the fields of each type'),
    connections: z
      .array(
        z.strictObject({
          target: nodeId,
          type: connectionType.optional(),
          label: z.string().max(limits.edgeLabel).optional(),
        }),
      )
      .max(mostConnections)
      .optional()
      .describe('Typed connections from the new node to others, such as those that its type demands'),
    id: nodeId.optional().describe('A random UUID for the node. Default: the service generates one'),
  }),
  run: async (session, { org_id, title, text, parents, tags, properties, connections, id }) => {
    const body = {
      ...{ title, parents },
      ...(text !== undefined && { text_content: text }),
      ...(tags !== undefined && { tags }),
      ...(properties !== undefined && { properties }),
      ...(connections !== undefined && {
        connections: connections.map(({ target, type, label }) => ({
          target,
          ...(type !== undefined && { type }),
          ...(label !== undefined && { label }),
        })),
      }),
      ...(id !== undefined && { id }),
    }
    const node = await session.api.createNode({ path: { org_id }, body })
    return [
      own`Node ${node.id} was created: ${nodePage(session, org_id, node.id)}`,
      own`Source: ${sourceOf(org_id, node.id, node.head)}`,
      ...(node.clone_url === undefined ? [] : [own`Clone URL: ${node.clone_url}`]),
    ].join('\n')
  },
  where: (_, loc) => (loc[1] === 'text_content' ? ['text', ...loc.slice(2)] : loc.slice(1)).join('.'),
})
