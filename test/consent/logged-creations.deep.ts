/** The start of the service logs which rules guard nodes that were created freely until now. */

import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

describe('the log of a start', () => {
  it('has the rules that would have refused creations of the last days', async () => {
    const dataDir = await newDataDir()
    const first = await startGrove({ dataDir })
    const ann = await signUp(first, 'Ann')
    await newNode(first, ann)
    await ann.patch(`/orgs/${ann.org}`, { rules: [{ branches: ['main'] }] }).then(expecting(200))
    await first.close()
    const second = await startGrove({ dataDir, logLevel: 'warn' })
    await until(() => second.logged().includes('rule 1 guards new nodes'))
    expect(second.logged()).to.include('it would have refused 1 creation of the last 30 days').and.include(ann.org)
    await second.close()
  })
})
