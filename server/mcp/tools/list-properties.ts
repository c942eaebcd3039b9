/** The tool that lists the names of properties. */

import { z } from 'zod'
import { answer, list } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { maxChars, offset, orgId, pageOf, tool } from '../tool.ts'

const shownName = 240

export const listProperties = tool({
  name: 'list_properties',
  title: 'List properties',
  description:
    'Lists the properties of an organisation, the most used first: name, number of nodes, and kinds of values. `where`, `sort` and `facets` of list_nodes take these names; in `where` and `sort`, a name with a space or sign has double quotes.',
  access: 'read',
  operations: ['listProperties'],
  input: z.strictObject({ org_id: orgId, offset, limit: pageOf(200), max_chars: maxChars }),
  run: async ({ api }, { org_id, offset, limit, max_chars }) => {
    const { properties, total } = await api.listProperties({ path: { org_id }, query: { offset, limit } })
    const items = properties.map(({ name, num_nodes, kinds }) =>
      asItem({ name: brief(name, shownName), nodes: num_nodes, kinds }),
    )
    const rest = (next: number) => `call again with offset: ${next}`
    return answer(max_chars, [own`Properties: ${total}.`], [list({ of: 'properties', items, total, offset, rest })])
  },
})
