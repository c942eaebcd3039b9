/** Damage that the next start mends. */

import { existsSync } from 'node:fs'
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { commitOf } from '../support/concurrency-rules.ts'
import { expectSound } from '../support/data-folder.ts'
import { preload } from '../support/preload.ts'
import { until } from '../support/until.ts'
import { ann, grove, meanwhile, neighbour, node, objectFile, readNode, said, useScene } from './scene.ts'

describe('a repository that was damaged while nothing ran', () => {
  useScene()

  describe('is mended by the next start, and the log says how:', () => {
    it('empty refs, from what the index knows of them', async () => {
      await node.proposal('dolphins')
      await node.open('dolphins')
      expect((await ann.patch(`${node.at}/pull-requests/1`, { status: 'closed' })).status).to.equal(200)
      expect((await ann.delete(`${node.at}/branches/dolphins`)).status).to.equal(204)
      await node.proposal('a/b')
      const refs = ['refs/heads/main', 'refs/heads/a/b', 'refs/grove/ledger', 'refs/grove/pulls/1']
      const before = await readNode(ann, node)
      const lines = node.git.lines('for-each-ref')
      const person = await meanwhile(async () => {
        for (const ref of refs) await writeFile(join(node.git.dir, ref), ref.endsWith('main') ? '\0'.repeat(41) : '')
        await writeFile(join(grove.dataDir, ann.org, 'org.git/refs/heads/main'), '')
      })
      await until(() => said('restored an empty ref').length === 5)
      expect(await readNode(person, node)).to.deep.equal(before)
      expect(node.git.lines('for-each-ref')).to.deep.equal(lines)
      expect(said('restored an empty ref').map(({ ref }) => ref)).to.have.members([...refs, 'refs/heads/main'])
      await expectSound(grove.dataDir)
    })

    it('an empty object that hides the one in a pack', async () => {
      const before = await readNode(ann, node)
      const blob = node.git.say('rev-parse', 'main:content.md')
      const person = await meanwhile(async () => {
        node.git.say('repack', '-adq')
        await mkdir(dirname(objectFile(blob)), { recursive: true })
        await writeFile(objectFile(blob), '')
      })
      await until(() => said('removed empty objects').length > 0)
      expect(await readNode(person, node)).to.deep.equal(before)
      expect(said('removed empty objects')[0]?.objects).to.deep.equal([blob])
      await expectSound(grove.dataDir)
    })

    it('HEAD and config', async () => {
      const before = await readNode(ann, node)
      const person = await meanwhile(async () => {
        await rm(join(node.git.dir, 'HEAD'))
        await writeFile(join(node.git.dir, 'config'), '')
        await writeFile(join(neighbour.git.dir, 'HEAD'), 'garbage\n')
        await writeFile(join(neighbour.git.dir, 'config'), '[core\ngarbage')
      })
      await until(() => said('rewrote HEAD or config').length === 2)
      expect(await readNode(person, node)).to.deep.equal(before)
      expect((await readNode(person, neighbour)).map(({ status }) => status)).to.deep.equal(Array(6).fill(200))
      await expectSound(grove.dataDir)
    })

    it('old locks, temporary files and quarantines; young ones stay', async () => {
      const names = [
        'packed-refs.lock',
        'config.lock',
        'refs/heads/main.lock',
        'refs/heads/.tmp-main-0123',
        'objects/ab/tmp_obj_0123',
        'objects/pack/tmp_pack_0123',
        'objects/pack/.tmp-17-pack-0123.pack',
        'objects/tmp_objdir-incoming-0123/pack/tmp_pack_0123',
        'quarantine-0123/objects/ab/cd',
        `../tmp-${'01'.repeat(8)}/HEAD`,
      ]
      const last = join(grove.dataDir, ann.org, 'org.git/HEAD.lock')
      const young: string[] = []
      let orphan = ''
      const person = await meanwhile(async () => {
        for (const name of names) await leave(join(node.git.dir, name), true)
        for (const name of names) young.push(await leave(join(neighbour.git.dir, name.replace('01', '23')), false))
        // A power cut took the folder of its owner.
        orphan = await leave(
          join(node.git.dir, 'refs/heads/orphan.lock'),
          true,
          'grove gone/1\n{"note":"","locks":[]}\n',
        )
        await leave(last, true)
      })
      await until(() => !existsSync(last))
      expect(existsSync(orphan)).to.equal(false)
      expect(names.filter((name) => existsSync(join(node.git.dir, name)))).to.deep.equal([])
      expect(young.filter((path) => !existsSync(path))).to.deep.equal([])
      expect((await person.post(`${node.at}/tree/main/commits`, commitOf('Goes on'))).status).to.equal(201)
      const { status, body } = await person.hasty.post(`${neighbour.at}/tree/main/commits`, commitOf('Waits'))
      expect([status, body.code]).to.deep.equal([503, 'busy'])
      expect((await person.get(`${neighbour.at}/branches`)).body.branches).to.have.length(1)
      for (const path of young) await rm(path, { force: true })
      await expectSound(grove.dataDir)
    })
  })

  it('is judged by the clock of the file system: one’s own may go wrong', async () => {
    const wrong = preload('const now = Date.now; Date.now = () => now() + 3600_000')
    const person = await meanwhile(() => leave(join(node.git.dir, 'refs/heads/main.lock'), false), wrong)
    const { status, body } = await person.hasty.post(`${node.at}/tree/main/commits`, commitOf('Waits'))
    expect([status, body.code]).to.deep.equal([503, 'busy'])
    expect(existsSync(join(node.git.dir, 'refs/heads/main.lock'))).to.equal(true)
  })

  for (const [what, content] of Object.entries({
    'an empty lock': '',
    'a lock of zeros': '\0'.repeat(140),
    'a lock that ends in zeros': `grove gone/1\n{"note":"","locks":[]}\n${'\0'.repeat(140)}`,
  }))
    it(`keeps nobody waiting by ${what} that is older than the machine’s last start`, async () => {
      const justStarted = preload(
        'import os from "node:os"; import { syncBuiltinESMExports } from "node:module"; os.uptime = () => 60; syncBuiltinESMExports()',
      )
      const lock = join(node.git.dir, 'refs/heads/main.lock')
      const person = await meanwhile(async () => {
        await writeFile(lock, content)
        await utimes(lock, new Date(Date.now() - 120_000), new Date(Date.now() - 120_000))
      }, justStarted)
      expect((await person.post(`${node.at}/tree/main/commits`, commitOf('Goes on'))).status).to.equal(201)
    })
})

/** Leaves a file as an unfinished write does, three hours ago or just now; its path. */
async function leave(path: string, isOld: boolean, content = ''): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
  if (!isOld) return path
  const then = new Date(Date.now() - 3 * 3_600_000)
  // A folder that is made with it is as old.
  const made = /^(.*\/(?:tmp_objdir-|quarantine-|tmp-)[^/]*)\//.exec(path)?.[1] ?? path
  for (let one = path; one.length >= made.length; one = dirname(one)) await utimes(one, then, then)
  return path
}
