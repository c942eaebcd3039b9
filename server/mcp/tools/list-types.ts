/** The tool that lists the types of an organisation. */

import { z } from 'zod'
import type { Output } from '../../../spec/client/api.ts'
import { answer, each, list, type Section } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import type { Session } from '../session.ts'
import { maxChars, offset, orgId, pageOf, tool, typeName } from '../tool.ts'
import { typeForms } from '../type-lines.ts'

const shownText = 100
const undefinedShare = 0.15

const input = z.strictObject({
  org_id: orgId,
  type: typeName.optional().describe('Only this type, by its name'),
  offset,
  limit: pageOf(50),
  max_chars: maxChars,
})

type Asked = z.infer<typeof input>

export const listTypes = tool({
  name: 'list_types',
  title: 'List types',
  description:
    'Lists the types of an organisation with their rules. A node has the type that its property `type` names. The first line of a type has its name, `enforcement` and number of nodes. One line follows for each field, connection and rule of parents, and an example of properties. Nodes of a `strict` type must follow the rules; those of an `advisory` type may break them. Call it before you create a node of a type, or change its properties.',
  access: 'read',
  operations: ['listTypes', 'getType'],
  input,
  run: async (session, asked) => {
    const { org_id, offset, max_chars } = asked
    const { types, total, undefined: unknown = {} } = await typesOf(session, asked)
    const items = types.map((type, n) => ({ of: own`type ${offset + n + 1}`, lines: typeForms(org_id, type) }))
    const rest = (shown: number) =>
      total - offset - shown > 0
        ? own`${total - offset - shown} of ${total} types; call again with offset: ${offset + shown}.`
        : undefined
    const lead = [
      own`Types: ${total}.`,
      'In where of list_nodes, type:name selects the nodes of a type. With aliases, it is type:name,"an alias". A field has its name there, or the `where` of its line. A connection is ->name:node_id.',
    ]
    return answer(max_chars, lead, [...undefinedTexts(unknown), each(items, { rest })])
  },
})

async function typesOf({ api }: Session, { org_id, type, offset, limit }: Asked): Promise<Output<'listTypes'>> {
  if (type === undefined) return api.listTypes({ path: { org_id }, query: { offset, limit } })
  const found = await api.getType({ path: { org_id, type_name: type } })
  return { types: [found].slice(offset), total: 1, limit, offset }
}

/** Lists the texts of `type` that nodes have and nobody defined. */
function undefinedTexts(unknown: Readonly<Record<string, number>>): Section[] {
  const items = Object.entries(unknown).map(([text, nodes]) =>
    asItem({ undefined_type: brief(text, shownText), nodes }),
  )
  const rest = () => 'list_nodes with facets: type counts them'
  return items.length === 0 ? [] : [list({ of: 'undefined types', items, share: undefinedShare, rest })]
}
