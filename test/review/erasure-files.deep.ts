/** The files of the data folder after an erasure. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { grove as cli } from '../support/command.ts'
import { expecting } from '../support/node.ts'
import { ann, aProposal, comment, cy, grove, useScene } from './scene.ts'

/**
 * Lists the files of the data folder, of every kind, that have the text. The folders of transactions have none, and go
 * while they are listed.
 */
function filesWith(text: string): string[] {
  return readdirSync(grove.dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.startsWith(join(grove.dataDir, 'run/')))
    .filter((file) => readFileSync(file).includes(text))
}

describe('the files after an erasure', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'grove-erased-'))
  useScene({ dataDir })
  after(() => rm(dataDir, { recursive: true, force: true }))

  it('have no version of the text once the service has stopped', async () => {
    const proposal = await aProposal()
    const long = 'hunter4 '.repeat(1_500)
    for (const text of ['hunter2 here', 'Kept one.', 'hunter3 here', long, 'Kept two.'])
      await comment(cy, proposal, text)
    await cy.patch(`${proposal.path}/comments/1`, { text: 'hunter5, edited' }).then(expecting(200))
    expect(filesWith('hunter5').map((file) => file.replace(/^.*\/|-wal$/g, ''))).to.include('index.sqlite')
    for (const entry of [1, 4]) await ann.post(`${proposal.path}/entries/${entry}/erase`, {}).then(expecting(200))
    const { code, stdout } = await cli(grove.dataDir, 'erase', '--node', proposal.node.id, '--entry', '1/3')
    expect(code, stdout).to.equal(0)
    await grove.close()
    expect(filesWith('Kept one.')).to.not.have.length(0)
    for (const text of ['hunter2', 'hunter3', 'hunter4', 'hunter5']) expect(filesWith(text), text).to.deep.equal([])
  })
})
