/** The tools that list organisations, deleted nodes, and the neighbours of a node. */

import { z } from 'zod'
import { answer, list } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { factsOf } from '../refusals.ts'
import { type Session, trashPage } from '../session.ts'
import { maxChars, nodeId, offset, orgId, pageOf, tool } from '../tool.ts'

const shownTitle = 240
const shownLabel = 120
const ownEdgesAlone =
  'The token is limited to this node: only edges that are stored in this node are listed, without titles.'
/** Share of an answer for each of parents, children and connections. */
const edgesShare = 0.5

export const listOrganisations = tool({
  name: 'list_organisations',
  title: 'List organisations',
  description:
    'Lists the organisations that you can read: id, name, description, role. Every other tool needs one of these ids.',
  access: 'read',
  operations: ['listOrgs', 'getOrg'],
  input: z.strictObject({ offset, limit: pageOf(200), max_chars: maxChars }),
  run: async (session, { offset, limit, max_chars }) => {
    const { orgs, total } = await orgsOf(session, offset, limit)
    const items = orgs.map(({ id, name, description, role, published }) =>
      asItem({ id, name, description: brief(description, 300) || undefined, role, published }),
    )
    const rest = (next: number) => `call again with offset: ${next}`
    return answer(
      max_chars,
      [own`Organisations: ${total}.`],
      [list({ of: 'organisations', items, total, offset, rest })],
    )
  },
})

/** Lists organisations. A token of one organisation may list none, but the refusal names its own. */
async function orgsOf(session: Session, offset: number, limit: number) {
  try {
    return await session.api.listOrgs({ query: { offset, limit } })
  } catch (error) {
    const { tokenOrgId } = factsOf(session, error)
    if (tokenOrgId === undefined) throw error
    const orgs = [await session.api.getOrg({ path: { org_id: tokenOrgId } })]
    return { orgs: orgs.slice(offset), total: 1 }
  }
}

export const listTrash = tool({
  name: 'list_trash',
  title: 'List deleted nodes',
  description:
    'Lists the deleted nodes of an organisation, the last deleted first: id, title, who deleted it, and until when it is kept. Needs the role maintainer. A user restores a node on the page that the answer names.',
  access: 'read',
  operations: ['listTrash'],
  input: z.strictObject({ org_id: orgId, offset, limit: pageOf(100), max_chars: maxChars }),
  run: async (session, { org_id, offset, limit, max_chars }) => {
    const { nodes, total } = await session.api.listTrash({ path: { org_id }, query: { offset, limit } })
    const items = nodes.map(({ id, title, deleted_at, deleted_by, kept_until }) =>
      asItem({
        id,
        title: brief(title, shownTitle),
        deleted_at,
        deleted_by: deleted_by === undefined ? undefined : brief(deleted_by, shownLabel),
        kept_until,
      }),
    )
    const rest = (next: number) => `call again with offset: ${next}`
    const lead = [own`Deleted nodes: ${total}. A user restores them here: ${trashPage(session, org_id)}`]
    return answer(max_chars, lead, [list({ of: 'deleted nodes', items, total, offset, rest })])
  },
})

export const neighbours = tool({
  name: 'neighbours',
  title: 'Neighbours of a node',
  description:
    'Lists the edges of a node: parents, children, and typed connections from it or to it. read_node lists the links in its text.',
  access: 'read',
  operations: ['getNode'],
  input: z.strictObject({ org_id: orgId, node_id: nodeId, max_chars: maxChars }),
  run: async ({ api, nodeId: only }, { org_id, node_id, max_chars }) => {
    const node = await api.getNode({ path: { org_id, node_id } })
    const { parents, children, connections, num_parents, num_children, num_connections } = node
    const related = ({ id, title, label }: (typeof parents)[number]) =>
      asItem({ id, title: brief(title, shownTitle), label: brief(label, shownLabel) || undefined })
    const connected = connections.map(({ id, source, target, source_title, target_title, type, label }) => {
      const leaves = source === node.id
      return asItem({
        connection: brief(id, shownLabel),
        direction: leaves ? 'to' : 'from',
        id: leaves ? target : source,
        title: brief(leaves ? target_title : source_title, shownTitle),
        type,
        label: brief(label, shownLabel) || undefined,
      })
    })
    const lead = [
      own`Node ${node.id}: parents ${num_parents}, children ${num_children}, connections ${num_connections}.`,
      ...(only === undefined ? [] : [ownEdgesAlone]),
    ]
    const share = edgesShare
    // With a token of one node, no further call can get the rest.
    const totalOf = (shown: readonly unknown[], total: number) => (only === undefined ? total : shown.length)
    const childrenRest = (next: number) => `call list_nodes with parent_id and offset: ${next}`
    const sections = [
      list({ of: 'parents', items: parents.map(related), total: num_parents, share }),
      list({
        of: 'children',
        items: children.map(related),
        total: totalOf(children, num_children),
        share,
        rest: childrenRest,
      }),
      list({ of: 'connections', items: connected, total: totalOf(connected, num_connections), share }),
    ]
    return answer(max_chars, lead, sections)
  },
})
