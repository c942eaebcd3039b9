/** `grove restore-node` and `grove purge` of a trash that is not as deletions leave it. */
import { cp, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { grove as command } from '../support/command.ts'
import { gitIn } from '../support/git.ts'
import { expecting, newNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('the trash', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'stranger' })

  it.deep('keeps a node whose id another organisation has taken meanwhile, and says which', async () => {
    const node = await newNode(grove, ann, { title: 'First' })
    await ann.delete(node.at).then(expecting(204))
    const trash = join(grove.dataDir, 'trash', ann.org)
    const [name = ''] = await readdir(trash)
    // By hand: the service itself gives no organisation an id that lies in the trash.
    await cp(join(trash, name), join(grove.dataDir, bob.org, `${node.id}.git`), { recursive: true })
    const git = gitIn(grove, bob.org, node.id)
    const record = { id: node.id, org_id: bob.org, title: 'Second', created_at: '2026-01-01T00:00:00.000Z' }
    const commit = git.commit({
      files: { 'node.json': JSON.stringify(record) },
      parents: [git.say('rev-parse', 'refs/grove/ledger')],
    })
    git.say('update-ref', 'refs/grove/ledger', commit)
    await bob.get(`/orgs/${bob.org}/nodes/${node.id}`).then(expecting(200))

    expect(await command(grove.dataDir, 'restore-node', `${ann.org}/${node.id}`)).to.deep.equal({
      code: 1,
      stdout: `${ann.org}/${node.id} cannot be restored: ${bob.org} has a node with this id, and an id can only be served once\n`,
      stderr: '',
    })
    expect(await readdir(trash)).to.deep.equal([name])
    expect((await bob.get(`/orgs/${bob.org}/nodes/${node.id}`)).status).to.equal(200)

    // Brought back by hand, it is named by doctor.
    await cp(join(trash, name), join(grove.dataDir, ann.org, `${node.id}.git`), { recursive: true })
    const [first, second] = [ann.org, bob.org].sort().map((org) => `${org}/${node.id}.git`)
    const { code, stdout } = await command(grove.dataDir, 'doctor')
    expect(code).to.equal(1)
    expect(stdout).to.contain(`\n  ${second}: has the id of ${first}, and only one of the two is served\n`)
  })

  it('is purged beside a folder whose name is no time', async () => {
    const org = (await ann.post('/orgs', { name: 'Doomed' })).body.id
    await ann.delete(`/orgs/${org}`).then(expecting(204))
    const odd = join(grove.dataDir, 'trash', `${org}.99999999999999999999`)
    await mkdir(odd)
    const { code, stderr } = await command(grove.dataDir, 'purge', '--older-than', '0', '--force')
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect((await readdir(join(grove.dataDir, 'trash'))).filter((name) => name.startsWith(org))).to.have.length(1)
  })
})
