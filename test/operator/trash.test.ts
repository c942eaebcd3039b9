/** `grove restore-node`, `grove purge`, and command lines that say too little. */

import { mkdir, readdir, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { converse } from '../support/conversation.ts'
import { expectSound } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { cli, folder, queries, useDesk } from './desk.ts'

describe('the operator', () => {
  useDesk()

  describe('with restore-node and purge', () => {
    const { grove, ann } = useWorld({ ann: 'owner' })

    it.deep('brings a deleted node back, its newest copy, with everything that it had', async () => {
      const parent = await newNode(grove, ann, { title: 'Sea' })
      const node = await newNode(grove, ann, { title: 'Whales', parents: [parent.id], text_content: 'whale song' })
      await node.proposal('topic')
      await node.open('topic')
      await converse(`${node.at}/pull-requests/1`, ann)
      const search = () => ann.post(`/orgs/${node.org}/search/retrieve`, { query: 'song', expansion_depth: 'deep' })
      const everything = () => everythingIn(grove, ann.session.accessToken, [node.org], queries)
      for (const title of ['Whales', 'Whales again']) {
        await ann.patch(node.at, { title })
        const [before, found] = [await everything(), await search()]
        expect((await ann.delete(node.at)).status).to.equal(204)
        expect((await search()).body.matches).to.deep.equal([])
        expect(await cli(grove.dataDir, 'restore-node', `${node.org}/${node.id}`)).to.deep.equal({
          code: 0,
          stdout: `${node.org}/${node.id} was restored\n`,
          stderr: '',
        })
        expect(await everything()).to.deep.equal(before)
        expect(await search()).to.deep.equal(found)
      }
      await ann.post(`${node.at}/pull-requests/1/update-branch`).then(expecting(200))
      await ann.post(`${node.at}/pull-requests/1/merge`, {}).then(expecting(200))
      await expectSound(grove.dataDir)
    })

    it('ends with 2 for a node that exists, never existed, or has an invalid id', async () => {
      const node = await newNode(grove, ann)
      const refused = async (place: string, stderr: string) =>
        expect(await cli(grove.dataDir, 'restore-node', place)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: `grove: ${place} ${stderr}\n`,
        })
      const nowhere = '00000000-0000-4000-8000-000000000000'
      await refused(`${node.org}/${node.id}`, 'cannot be restored: the node exists')
      await refused(`${node.org}/${nowhere}`, 'cannot be restored: it is not in the trash')
      await refused(`${nowhere}/${node.id}`, 'cannot be restored: its organisation does not exist')
      for (const place of [node.id, `${node.org}/../..`]) await refused(place, 'is not ORG_ID/NODE_ID')
    })

    it('purges what was deleted long ago, and nothing else', async () => {
      await cli(grove.dataDir, 'purge', '--older-than', '0', '--force')
      const [old, young] = [await newNode(grove, ann), await newNode(grove, ann)]
      const doomed = (await ann.post('/orgs', { name: 'Doomed' })).body.id
      for (const at of [old.at, young.at, `/orgs/${doomed}`]) expect((await ann.delete(at)).status).to.equal(204)
      const trash = join(grove.dataDir, 'trash')
      const [name = ''] = (await readdir(join(trash, old.org))).filter((one) => one.startsWith(old.id))
      await rename(join(trash, old.org, name), join(trash, old.org, `${old.id}.1700000000000.git`))
      const [org = ''] = (await readdir(trash)).filter((one) => one.startsWith(`${doomed}.`))
      await rename(join(trash, org), join(trash, `${doomed}.1700000000001`))
      await mkdir(join(trash, old.org, 'tmp-of-a-purge-that-was-killed'))

      const { code, stdout } = await cli(grove.dataDir, 'purge')
      expect({ code, stdout }).to.deep.equal({
        code: 0,
        stdout: `removed ${old.org}/${old.id}, deleted 2023-11-14T22:13:20.000Z
removed organisation ${doomed}, deleted 2023-11-14T22:13:20.001Z
2 removed, 1 kept (deleted less than 30 days ago)
`,
      })
      expect(await readdir(trash)).to.deep.equal([old.org])
      expect((await readdir(join(trash, old.org))).map((one) => one.split('.')[0])).to.deep.equal([young.id])
      expect((await cli(grove.dataDir, 'restore-node', `${old.org}/${old.id}`)).code).to.equal(2)
      expect((await cli(grove.dataDir, 'restore-node', `${young.org}/${young.id}`)).code).to.equal(0)
    })

    it('purges no youngster without --force, and no nonsense', async () => {
      const stderr = async (...args: string[]) => {
        const done = await cli(grove.dataDir, 'purge', ...args)
        expect({ code: done.code, stdout: done.stdout }).to.deep.equal({ code: 2, stdout: '' })
        return done.stderr
      }
      expect(await stderr('--older-than', '13')).to.equal(
        'grove: Use --force to purge items deleted less than 14 days ago\n',
      )
      expect(await stderr('--older-than', 'a week')).to.equal('grove: --older-than must be a number of days: a week\n')
    })

    it('leaves a personal organisation deleted that was purged', async () => {
      const eve = await signUp(grove, 'Eve')
      expect((await eve.delete(`/orgs/${eve.org}`)).status).to.equal(204)
      expect((await cli(grove.dataDir, 'purge', '--older-than', '0', '--force')).stdout).to.contain(
        `removed organisation ${eve.org}, `,
      )
      const { body } = await client(grove).post('/auth/login', { email: 'eve@example.org', password })
      expect(body.user).to.not.have.property('org_id')
      expect((await eve.get('/orgs')).body.total).to.equal(0)
    })
  })

  it('gets 2 for a command line that says too little, or backs a folder up into itself', async () => {
    const dataDir = await folder()
    for (const command of ['backup', 'restore', 'restore-node']) {
      const { code, stderr } = await cli(dataDir, command)
      expect({ code, stderr }).to.deep.equal({
        code: 2,
        stderr: `error: missing required argument '${command === 'restore-node' ? 'node' : 'dir'}'\n`,
      })
    }
    expect((await cli(dataDir, 'restore', join(dataDir, 'absent'))).code).to.equal(2)
    for (const dir of [dataDir, join(dataDir, 'backup'), tmpdir()])
      expect(await cli(dataDir, 'backup', dir)).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `grove: ${dir} and the data folder ${dataDir} must not contain each other\n`,
      })
    expect(await readdir(dataDir)).to.deep.equal([])
  })
})
