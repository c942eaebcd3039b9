/** `grove import` of a folder in which nothing has changed: known without reading its files, and told the same. */

import { appendFile, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { until } from '../support/until.ts'
import { ann, type Finished, folderOf, grove, importAs, nodesOf, orgIn, useService } from './command.ts'

const files = { 'a.md': '# A\n\n[[b]] and [[nowhere]]\n', 'b.md': '# B\n', 'c/d.md': '# D\n![](e.png)\n' }

describe('import again', () => {
  useService()
  let folder: string
  let org: string

  /** The files are read: it says how far it is. */
  const wasRead = ({ stderr }: Finished) => stderr.includes('Reading')
  const again = (...options: string[]) => importAs(folder, ...options)

  /** Once the last change is two seconds old. */
  async function settled(...options: string[]): Promise<Finished> {
    let last: Finished | undefined
    await until(async () => {
      last = await again(...options)
      return !wasRead(last)
    })
    if (last === undefined) throw new Error('never imported')
    return last
  }

  before(async () => {
    folder = await folderOf('Quiet', files)
    org = orgIn(await again())
  })

  it.deep('reads nothing if nothing has changed, and says what a reading says', async () => {
    const known = await settled()
    await rm(join(grove.dataDir, 'imports'), { recursive: true })
    const read = await again()
    expect(wasRead(read)).to.equal(true)
    expect(known.stdout).to.equal(read.stdout).and.contain('0 created, 0 updated, 5 unchanged')
    expect(known.code).to.equal(0)
  })

  it.deep('knows what it has just written', async () => {
    await settled()
    const older = new Date(Date.now() - 60_000)
    await appendFile(join(folder, 'a.md'), 'More.\n')
    await utimes(join(folder, 'a.md'), older, older)
    // Its time of change cannot be set: the first run that may tell remembers.
    const first = await again()
    expect(first.stdout).to.contain('0 created, 1 updated, 4 unchanged')
    expect((await settled()).stdout).to.contain('0 created, 0 updated, 5 unchanged')
  })

  const changes: Record<string, () => Promise<unknown>> = {
    'a file of another text and the same size and time': async () => {
      const path = join(folder, 'b.md')
      await writeFile(path, '# C\n')
      const past = new Date(2_000_000)
      await utimes(path, past, past)
    },
    'a file that is renamed': () => rename(join(folder, 'b.md'), join(folder, 'f.md')),
    'a file that is new': () => writeFile(join(folder, 'g.md'), '# G\n'),
    'a file that is gone': () => rm(join(folder, 'g.md')),
    'an image that is new': () => writeFile(join(folder, 'c/e.png'), 'not really'),
    'a pattern of .groveignore': () => writeFile(join(folder, '.groveignore'), 'c/\n'),
    'an edit in Grove': async () => {
      const { id } = (await nodesOf(org)).get('A') ?? {}
      await ann.patch(`/orgs/${org}/nodes/${id}`, { title: 'Another' }).then(expecting(200))
    },
    'a new name of the organisation': () => ann.patch(`/orgs/${org}`, { name: 'Louder' }).then(expecting(200)),
    'a damaged memory': () => writeFile(join(grove.dataDir, 'imports', `${org}.json`), '{"folder":'),
  }
  for (const [name, change] of Object.entries(changes))
    it.deep(`reads again after ${name}`, async () => {
      await settled()
      await change()
      expect(wasRead(await again())).to.equal(true)
    })

  it.deep('reads again with other options, and for a dry run', async () => {
    await settled()
    expect(wasRead(await again('--exclude', 'no such file.md'))).to.equal(false)
    for (const options of [['--prune'], ['--dry-run'], ['--base', '/en/']])
      expect(wasRead(await again(...options)), options.join(' ')).to.equal(true)
  })

  it('keeps one small file for each organisation', async () => {
    await settled()
    const kept = await readdir(join(grove.dataDir, 'imports'))
    expect(kept).to.deep.equal([`${org}.json`])
    expect(JSON.parse(await readFile(join(grove.dataDir, 'imports', `${org}.json`), 'utf8'))).to.have.keys(
      'folder',
      'org',
      'lines',
    )
  })
})
