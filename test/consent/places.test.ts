/** The rules that guard pages at their places, against a naive walk over small random graphs. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { findOrgRow, type OrgRow } from '../../index/derived/org-queries.ts'
import { type PlacedPage, rulesAtPlaces } from '../../server/domain/consent/places.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { useWorld } from '../support/world.ts'

/** Pages with a row, and pages that only the request has. */
const [there, coming] = [7, 3]
const pageArbitrary = fc.nat(there + coming - 1)

const changeArbitrary = fc.record({
  page: pageArbitrary,
  act: fc.constantFrom('create' as const, 'change' as const, 'delete' as const, 'restore' as const),
  parents: fc.uniqueArray(pageArbitrary, { maxLength: 3 }),
})

const situationArbitrary = fc.record({
  /** The parents of each page with a row. All are before it, so that there is no cycle. */
  rows: fc.tuple(...Array.from({ length: there }, (_, at) => fc.subarray(Array.from({ length: at }, (_, one) => one)))),
  changes: fc.uniqueArray(changeArbitrary, { selector: ({ page }) => page, minLength: 1, maxLength: 5 }),
  rules: fc.array(
    fc.record({
      under: fc.option(pageArbitrary, { nil: undefined }),
      branch: fc.constantFrom('main', 'main', 'm*', 'x'),
      pages: fc.constantFrom('all' as const, 'all' as const, 'existing' as const),
    }),
    { maxLength: 4 },
  ),
  needsPulls: fc.boolean(),
})

/** True if a path of parents leads from the page to `top`. */
function leadsTo(
  parentsOf: (id: string) => readonly string[],
  id: string,
  top: string,
  seen: readonly string[],
): boolean {
  if (id === top) return true
  return parentsOf(id).some((parent) => !seen.includes(parent) && leadsTo(parentsOf, parent, top, [...seen, parent]))
}

describe('the rules that guard a page', () => {
  const { grove } = useWorld({})
  let ann: PersonClient
  let org: OrgRow
  before(async () => {
    ann = await signUp(grove, 'Ann')
    const row = await findOrgRow(grove.deps.index.read, ann.org)
    if (!row) throw new Error('the organisation has no row')
    org = row
  })

  it('are those of its place before the change, and of its place after it', async () => {
    const property = fc.asyncProperty(situationArbitrary, async ({ rows, changes, rules, needsPulls }) => {
      const ids = Array.from({ length: there + coming }, () => randomUUID())
      const idAt = (at: number) => ids[at] ?? ''
      const nodes = rows.map((parents, at) => ({ id: idAt(at), title: `Page ${at}`, parents: parents.map(idAt) }))
      await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
      const stored = rules.map(({ under, branch, pages }) => ({
        ...{ branches: [branch], pages },
        ...(under !== undefined && { under: idAt(under) }),
      }))
      const ruled = {
        ...org,
        rules: JSON.stringify(stored),
        rules_head: org.head,
        require_pull_requests: needsPulls ? 1 : 0,
      }
      const pages = changes.map(
        ({ page, act, parents }): PlacedPage => ({ id: idAt(page), act, parents: parents.map(idAt) }),
      )
      const found = await rulesAtPlaces(grove.deps, ruled as OrgRow, pages)
      const inRows = (id: string): readonly string[] => nodes.find((node) => node.id === id)?.parents ?? []
      const changed = (id: string) => pages.find((page) => page.id === id)?.parents ?? inRows(id)
      for (const { id, act } of pages) {
        const isIn = (places: typeof inRows, under?: string) => under === undefined || leadsTo(places, id, under, [id])
        const guards = ({ under, pages }: (typeof stored)[number]) =>
          pages === 'existing' ? act === 'change' && isIn(inRows, under) : isIn(inRows, under) || isIn(changed, under)
        const own = stored.flatMap((rule, at) => (rule.branches[0] !== 'x' && guards(rule) ? [at] : []))
        const all = needsPulls && act === 'change' ? [undefined, ...own] : own
        expect((found.get(id) ?? []).map(({ at }) => at)).to.deep.equal(all)
      }
    })
    await fc.assert(property, { numRuns: runs(80) })
  })
})
