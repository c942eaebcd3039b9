/** There and back: export, import elsewhere, export again. The same files, the same nodes. */

import { expect } from 'chai'
import fc from 'fast-check'
import { runs } from '../support/seed.ts'
import { randomOrg } from './random-orgs.ts'
import {
  ann,
  annThere,
  exportTo,
  here,
  importFrom,
  newOrg,
  stateOf,
  there,
  useTwoServices,
  write,
} from './there-and-back.ts'

describe('an export that is imported', () => {
  useTwoServices()

  it('elsewhere is the same nodes, and exported again the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(randomOrg, async (nodes) => {
        const from = await newOrg(ann)
        await write(here, from, nodes)
        const first = await exportTo(here, from)
        const to = await newOrg(annThere)
        expect(await importFrom(there, to, first.dir)).to.deep.equal([])
        expect(await stateOf(there, to)).to.deep.equal(await stateOf(here, from))
        expect((await exportTo(there, to)).files).to.deep.equal(first.files)
      }),
      { seed: 20_261_122, numRuns: runs(6) },
    )
  })
})
