/** `grove restore` from mirrors of different moments: that of org.git knows a merge that those of pages do not. */

import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { gitIn } from '../support/git.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { readSets } from '../support/sets-reader.ts'
import { cli, folder, run, useDesk } from './desk.ts'

const clone = (from: string, to: string) => run('git', ['clone', '-q', '--mirror', '--no-local', from, to])

describe('mirrors of different moments', () => {
  useDesk()
  let org = ''
  let mirrors = ''
  const ids: Record<string, string> = {}

  before(async () => {
    const dataDir = await folder()
    mirrors = await folder()
    const grove = await startGrove({ dataDir })
    try {
      const ann = await signUp(grove, 'Ann')
      org = ann.org
      const path = `/orgs/${org}`
      const page = async (title: string) => {
        const body = { title, text_content: `About ${title}.\n` }
        ids[title] = (await ann.post(`${path}/nodes`, body).then(expecting(201))).body.id
        return ids[title]
      }
      for (const title of ['Whales', 'Seals', 'Old', 'Gone']) await page(title)
      await ann.delete(`${path}/nodes/${ids.Gone}`).then(expecting(204))
      const { change_set: set, nodes } = (
        await ann
          .post(`${path}/change-sets`, {
            title: 'Songs',
            nodes: [
              { title: 'Krill', text_content: 'Krill.\n', parents: [ids.Whales] },
              { id: ids.Whales, text_content: 'Whales sing.\n' },
              { id: ids.Seals, text_content: 'Seals bark.\n' },
            ],
            deletions: [{ node_id: ids.Old }],
            restorations: [{ node_id: ids.Gone }],
          })
          .then(expecting(201))
      ).body
      ids.Krill = nodes[0].id
      const copy = (id: string) => clone(join(dataDir, org, `${id}.git`), join(mirrors, org, `${id}.git`))
      for (const title of ['Whales', 'Krill', 'Old', 'Gone']) await copy(ids[title] ?? '')
      await ann.post(`${path}/change-sets/${set.number}/merge`).then(expecting(200))
      for (const id of [ids.Seals ?? '', 'org']) await copy(id)
    } finally {
      await grove.close()
    }
  })

  it('are moved forward to the merge that org.git knows', async () => {
    const dataDir = await folder()
    const { code, stdout } = await cli(dataDir, 'restore', mirrors)
    expect(code, stdout).to.equal(0)
    expect(code, stdout).to.equal(0)
    expect(stdout.match(/^moved forward: /gm), stdout).to.have.length(4)
    const git = (title: string) => gitIn({ dataDir }, org, ids[title] ?? '')
    expect(git('Whales').say('show', 'main:content.md')).to.equal('Whales sing.')
    expect(git('Krill').say('show', 'main:content.md')).to.equal('Krill.')
    expect(git('Gone').say('show', 'main:content.md')).to.equal('About Gone.')
    expect(git('Old').lines('ls-tree', 'main')).to.deep.equal([])
    const node = (title: string) => JSON.parse(git(title).say('show', 'refs/grove/ledger:node.json'))
    expect([node('Krill').state, node('Gone').state, node('Old').state]).to.deep.equal([
      undefined,
      undefined,
      'deleted',
    ])
    const { sets, broken, orphans } = readSets({ dataDir }, org)
    expect([broken, orphans]).to.deep.equal([[], []])
    expect(sets[0]?.status).to.equal('merged')
    for (const title of ['Whales', 'Krill', 'Gone']) git(title).fsck()
    const doctor = await cli(dataDir, 'doctor')
    expect(doctor.stdout, 'nothing is torn').to.not.match(/change set/)
  })

  it('are named by doctor and restore if they cannot be', async () => {
    const other = await folder()
    await cp(mirrors, other, { recursive: true })
    const whales = gitIn({ dataDir: other }, org, ids.Whales ?? '')
    const tree = whales.say('rev-parse', 'main^{tree}')
    const head = whales.say('commit-tree', tree, '-p', 'main', '-m', 'Elsewhere')
    whales.say('update-ref', 'refs/heads/main', head)
    const dataDir = await folder()
    const { code, stdout, stderr } = await cli(dataDir, 'restore', other)
    expect(code).to.equal(1)
    expect(stdout + stderr).to.match(/lacks the change of change set 1, which has merged, and its `main` is not where/)
    const doctor = await cli(dataDir, 'doctor')
    expect(doctor.code).to.equal(1)
    expect(doctor.stdout).to.include(`${ids.Whales}.git`).and.include('lacks the change of change set 1')
  })
})
