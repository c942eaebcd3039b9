/** The tool that lists the nodes of an organisation, or those that match a filter. */

import { z } from 'zod'
import type { Input, Output } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import { answer, list } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { readAs, shortened } from '../read-filter.ts'
import { ToolError } from '../refusals.ts'
import { type Session, sourcesOf } from '../session.ts'
import { maxChars, nodeId, offset, orgId, pageOf, tool } from '../tool.ts'

const shownTitle = 240
const shownTags = 10
/** Values of a facet. */
const facetValues = 20

const propertyName = z.string().min(1).max(1_000)

const input = z.strictObject({
  org_id: orgId,
  where: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe(
      'A filter such as `type:recipe serves>=4 due<2026-12-01 -status:done,dropped`. Terms must all hold, - negates, ( a:1 OR b:2 ) chooses. `:` ignores case, `=` and `!=` do not. `~` contains, name:abc* begins, name:* has a value, -name:* has none. a.b is a path, today is a day. Double quotes go around names and values with spaces. Also created, updated, title, tag, id, parent, under (a property of such a name is .created), ->connection_type:node_id',
    ),
  sort: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('Up to three properties, or title, created or updated; - sorts from the largest: `-due,title`'),
  facets: z
    .array(propertyName)
    .min(1)
    .max(5)
    .optional()
    .describe(
      'Names of properties as list_properties has them, or tag, whose values are counted among all nodes that match',
    ),
  properties: z.array(propertyName).min(1).max(20).optional().describe('Properties to show of each node'),
  tag: z.string().min(1).max(limits.tag).optional().describe('Only without where, sort, facets and properties'),
  parent_id: nodeId.optional().describe('Only children of this node, without where, sort, facets and properties'),
  order: z
    .enum(['created', 'changed'])
    .optional()
    .describe('Default: created. Only without where, sort, facets and properties'),
  offset,
  limit: pageOf(100),
  max_chars: maxChars,
})

type Asked = z.infer<typeof input>
type Found = Output<'listNodes'> & Partial<Output<'queryNodes'>>

export const listNodes = tool({
  name: 'list_nodes',
  title: 'List nodes',
  description:
    'Lists the nodes of an organisation, a page at a time: id, title, tags, commit. `where` filters them by their properties, exactly and with a total; list_properties names the properties. `facets` counts values. Without `sort`, the oldest are first. Order `changed` lists the latest changes first.',
  access: 'read',
  operations: ['listNodes', 'queryNodes'],
  input,
  run: async (session, asked) => {
    const { org_id, offset, max_chars, properties = [] } = asked
    const found = await nodesOf(session, asked)
    const { nodes, total } = found
    const items = nodes.map(({ id, title, tags, updated_at, head, properties: values }) =>
      asItem({
        id,
        title: brief(title, shownTitle),
        tags: tags.slice(0, shownTags),
        updated_at,
        commit: head,
        ...(properties.length > 0 && { properties: shownProperties(values, properties) }),
      }),
    )
    const rest = (next: number) => `call again with offset: ${next}`
    const sections = [...readAs(found), list({ of: 'nodes', items, total, offset, rest })]
    return answer(max_chars, [own`Nodes: ${total}.`, ...(items.length > 0 ? [sourcesOf(org_id)] : [])], sections)
  },
})

async function nodesOf({ api }: Session, asked: Asked): Promise<Found> {
  const { org_id, where, sort, facets, properties, tag, parent_id, order, offset, limit } = asked
  const path = { org_id }
  if ([where, sort, facets, properties].every((one) => one === undefined)) {
    const bounds = { ...(tag === undefined ? {} : { tag }), ...(parent_id === undefined ? {} : { parent_id }) }
    return api.listNodes({ path, query: { ...bounds, ...(order !== undefined && { order }), offset, limit } })
  }
  if (tag !== undefined || parent_id !== undefined || order !== undefined)
    throw new ToolError(
      422,
      'invalid',
      '`tag`, `parent_id` and `order` cannot be combined with where, sort, facets and properties. Write tag:name and parent:id in where, and -updated in sort',
    )
  const body: Input<'queryNodes'>['body'] = {
    ...(where !== undefined && { where }),
    ...(sort !== undefined && { sort }),
    ...(facets !== undefined && { facets: facets.map(facetOf) }),
    ...{ offset, limit },
  }
  return api.queryNodes({ path, body })
}

function facetOf(name: string) {
  return { ...(name === 'tag' ? { field: 'tag' as const } : { property: name }), limit: facetValues }
}

function shownProperties(values: object | null, names: readonly string[]): object | string {
  if (values === null) return 'too long for a list: call read_node with path: node.json'
  const shown = Object.entries(values).filter(([name]) => names.includes(name))
  return Object.fromEntries(shown.map(([name, value]) => [name, shortened(value)]))
}
