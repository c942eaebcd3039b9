/** The tool that lists organisations. */

import { z } from 'zod'
import { answer, list } from '../answer.ts'
import { asItem, brief, own } from '../quoted.ts'
import { factsOf } from '../refusals.ts'
import type { Session } from '../session.ts'
import { maxChars, offset, pageOf, tool } from '../tool.ts'

export const listOrganisations = tool({
  name: 'list_organisations',
  title: 'List organisations',
  description: 'The organisations that can be read: id, name, description, role. Every other tool takes such an id.',
  writes: false,
  operations: ['listOrgs', 'getOrg'],
  input: z.strictObject({ offset, limit: pageOf(200), max_chars: maxChars }),
  run: async (session, { offset, limit, max_chars }) => {
    const { orgs, total } = await orgsOf(session, offset, limit)
    const items = orgs.map(({ id, name, description, role, published }) =>
      asItem({ id, name, description: brief(description, 300) || undefined, role, published }),
    )
    const rest = (next: number) => `ask with offset: ${next}`
    return answer(
      max_chars,
      [own`Organisations: ${total}.`],
      [list({ of: 'organisations', items, total, offset, rest })],
    )
  },
})

/** A token of one organisation may list none; the refusal names the organisation. */
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
