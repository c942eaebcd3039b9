/** Moves that a dead command has left at each of their steps, as the sweep of either cell finds them. */
import { existsSync, readdirSync } from 'node:fs'
import { cp, readdir, readFile, rename, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { findCell } from '../../index/credentials/cells.ts'
import { beginMove, decideMove } from '../../index/credentials/place-moves.ts'
import { close } from '../../server/domain/cells/closing.ts'
import { NotMovedError } from '../../server/domain/cells/migration/copying.ts'
import { connectToCell } from '../../server/domain/cells/migration/other-cell.ts'
import { moveOrg } from '../../server/domain/cells/migration/send.ts'
import { finishMoves, reconcilePlaces } from '../../server/domain/cells/reconciliation.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { groveAt, here, move, orgsIn, placeOf, setUrl, setUrls, signIn, there, useCells } from './scene.ts'

describe('a move whose command has died', () => {
  useCells({ sweeps: false, logLevel: 'error' })
  let ann: PersonClient
  let away: PersonClient

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
    away = await signIn(there, ann)
  })

  it('once the organisation is closed, is undone: it takes changes again', async () => {
    const { org, node } = await newOrg()
    await close(here.deps.store, org)
    await begin(org)
    for (const person of [ann, away]) {
      const refused = await change(person, org, node)
      expect([refused.status, refused.body.code, refused.headers['retry-after']]).to.deep.equal([503, 'moving', '2'])
      await person.get(`/orgs/${org}/nodes/${node}`).then(expecting(200))
      for (const answer of [
        await person.post(`/orgs/${org}/nodes`, { title: 'No' }),
        await person.delete(`/orgs/${org}/nodes/${node}`),
        await person.delete(`/orgs/${org}`),
      ])
        expect([answer.status, answer.body.code]).to.deep.equal([503, 'moving'])
    }
    await finishMoves(there.deps)
    expect((await change(ann, org, node)).status).to.equal(503)
    await finishMoves(here.deps)
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here', target: null })
    expect((await change(away, org, node)).status).to.equal(201)
    expect(readdirSync(join(here.dataDir, org))).not.to.include('closed')
  })

  it('once the directory has decided, is finished by both cells', async () => {
    const { org, node } = await newOrg()
    expect(await move(org, 'there')).to.include({ code: 0 })
    const begun = await begin(org, 'there', 'here')
    await cp(join(there.dataDir, org), join(here.dataDir, 'arriving', org), { recursive: true })
    await close(there.deps.store, org)
    expect(await here.deps.credentials.write((trx) => decideMove(trx, begun, 'here'))).to.equal(true)
    for (const person of [ann, away]) {
      const answer = await person.get(`/orgs/${org}/nodes/${node}`)
      expect([answer.status, answer.body.code]).to.deep.equal([503, 'moving'])
    }
    await finishMoves(there.deps)
    expect(await orgsIn(there)).to.include(org)
    await finishMoves(here.deps)
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here', target: null, epoch: 3 })
    expect((await change(away, org, node)).status).to.equal(201)
    await finishMoves(there.deps)
    expect(await orgsIn(there)).not.to.include(org)
    expect(await orgsIn(here)).to.include(org)
  })

  it('leaves what was sent for the next attempt, and for a day', async () => {
    const { org } = await newOrg()
    await setUrl('there', 'http://127.0.0.1:9')
    const refused = await move(org, 'there')
    expect(refused).to.include({ code: 1 })
    expect(refused.stdout).to.match(RegExp(`^${org} was not moved, .* The cell there does not answer at http://127`))
    await setUrls()
    const arriving = join(there.dataDir, 'arriving', org)
    await cp(join(here.dataDir, org), arriving, { recursive: true })
    await finishMoves(there.deps)
    expect(existsSync(arriving)).to.equal(true)
    const yesterday = Date.now() / 1000 - 25 * 3_600
    await utimes(arriving, yesterday, yesterday)
    expect((await (await otherThere()).arrived(org)).size).to.equal(2)
    await finishMoves(there.deps)
    expect(existsSync(arriving)).to.equal(true)
    await utimes(arriving, yesterday, yesterday)
    await finishMoves(there.deps)
    expect(existsSync(arriving)).to.equal(false)
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here' })
  })

  it('once the directory has decided, does not end where nothing has arrived, and holds up no other', async () => {
    const [lost, other] = [await newOrg(), await newOrg()]
    for (const { org } of [lost, other]) {
      await close(here.deps.store, org)
      const begun = await begin(org)
      if (org === other.org)
        await cp(join(here.dataDir, org), join(there.dataDir, 'arriving', org), { recursive: true })
      expect(await here.deps.credentials.write((trx) => decideMove(trx, begun, 'there'))).to.equal(true)
    }
    for (const { deps } of [there, here]) await finishMoves(deps)
    expect(await placeOf(lost.org)).to.include({ cell: 'there', state: 'moving' })
    expect(await placeOf(other.org)).to.include({ cell: 'there', state: 'here' })
    expect(await orgsIn(here))
      .to.include(lost.org)
      .and.not.to.include(other.org)
    expect((await change(away, other.org, other.node)).status).to.equal(201)
    await cp(join(here.dataDir, lost.org), join(there.dataDir, 'arriving', lost.org), { recursive: true })
    for (const { deps } of [there, here]) await finishMoves(deps)
    expect((await change(ann, lost.org, lost.node)).status).to.equal(201)
  })

  it('is never settled while a command that lives continues', async () => {
    const { org, node } = await newOrg()
    let over = false
    const sweeping = (async () => {
      while (!over) for (const { deps } of [here, there]) await finishMoves(deps)
    })()
    for (const to of ['there', 'here'] as const) expect(await move(org, to)).to.include({ code: 0 })
    over = true
    await sweeping
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here', epoch: 3 })
    expect((await change(away, org, node)).status).to.equal(201)
  })

  it('where the directory was lost, the folder that has moved more often is right', async () => {
    const { org, node } = await newOrg()
    await cp(join(here.dataDir, org), join(here.dataDir, `old-${org}`), { recursive: true })
    expect(await move(org, 'there')).to.include({ code: 0 })
    expect((await change(ann, org, node)).status).to.equal(201)
    expect(await readFile(join(there.dataDir, org, 'epoch'), 'utf8')).to.equal('2\n')
    await rename(join(here.dataDir, `old-${org}`), join(here.dataDir, org))
    await here.deps.credentials.write((trx) => trx.deleteFrom('place').where('org_id', '=', org).execute())
    await reconcilePlaces(here.deps)
    expect(await placeOf(org)).to.include({ cell: 'here', epoch: 1 })
    await reconcilePlaces(there.deps)
    expect(await placeOf(org)).to.include({ cell: 'there', epoch: 2 })
    await reconcilePlaces(here.deps)
    expect(await readdir(here.dataDir)).to.include(`foreign-${org}`)
    await rm(join(here.dataDir, `foreign-${org}`), { recursive: true })
    expect((await ann.get(`/orgs/${org}/nodes/${node}`).then(expecting(200))).body.text_content).to.equal('Changed.')
  })

  it('does not begin where the other cell has a node of the same id, in another organisation', async () => {
    const { org, node } = await newOrg()
    const other = (await away.post('/orgs', { name: 'Other' }).then(expecting(201))).body.id
    await away.post(`/orgs/${other}/nodes`, { id: node, title: 'Twin' }).then(expecting(201))
    const refused = await move(org, 'there')
    expect(refused).to.include({ code: 1 })
    expect(refused.stdout).to.include(`The organisation ${other} in this cell also has a node ${node}`)
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here' })
    expect((await change(ann, org, node)).status).to.equal(201)
  })

  it('is asked for by cells alone', async () => {
    const { org } = await newOrg()
    const at = `/internal/arrivals/${org}/repositories`
    for (const [headers, status] of [
      [{ authorization: '' }, 401],
      [{ authorization: `Bearer ${ann.session.accessToken}` }, 403],
    ] as const) {
      const answer = await fetch(there.url + at, { headers })
      expect(answer.status).to.equal(status)
    }
  })

  it('of an organisation that is deleted meanwhile says so, and leaves nothing at the other cell', async () => {
    const { org } = await newOrg()
    const to = await otherThere()
    const prepare: typeof to.prepare = async (...what) => {
      await ann.delete(`/orgs/${org}`).then(expecting(204))
      return to.prepare(...what)
    }
    const options = { atOnce: 1, signal: new AbortController().signal, onProgress: () => {} }
    const said = await moveOrg(here.deps, org, { ...to, prepare }, options).catch((error: Error) => error)
    expect(said).to.be.instanceOf(NotMovedError).with.property('message', 'It was deleted during the move')
    expect(await placeOf(org)).to.include({ state: 'gone' })
    await finishMoves(there.deps)
    expect(readdirSync(join(there.dataDir, 'arriving'))).not.to.include(org)
  })

  it('once all of it was indexed at the other cell, is nothing that its doctor finds wrong, and goes with its rows', async () => {
    const { org } = await newOrg()
    const to = await otherThere()
    const prepare = async () => {
      await to.prepare(org, '')
      throw new NotMovedError('No more')
    }
    const options = { atOnce: 1, signal: new AbortController().signal, onProgress: () => {} }
    const said = await moveOrg(here.deps, org, { ...to, prepare }, options).catch((error: Error) => error)
    expect(said).to.have.property('message', 'No more')
    const rows = () => there.deps.index.read.selectFrom('node').select('id').where('org_id', '=', org).execute()
    expect(await rows()).to.have.length(1)
    const doctor = await groveAt(there, 'doctor')
    expect([doctor.code, doctor.stdout.includes(`(note) arriving/${org}: was sent`)]).to.deep.equal([0, true])
    const yesterday = Date.now() / 1000 - 25 * 3_600
    await utimes(join(there.dataDir, 'arriving', org), yesterday, yesterday)
    await finishMoves(there.deps)
    expect(await rows()).to.have.length(0)
    expect(await groveAt(there, 'doctor')).to.include({ code: 0 })
  })

  it('whose other cell refuses a pack before all of it has come leaves that cell serving', async () => {
    const { org, node } = await newOrg()
    await begin(org)
    const { sendPack } = await otherThere()
    const endless = Readable.from(noPack(), { objectMode: false })
    const cut = new Promise((done) => endless.once('close', done))
    const refused = await sendPack(org, `${node}.git`, endless).catch((error: Error) => error.message)
    expect(refused).to.match(/^The cell there refused the request \(\d+\): /)
    // That cell closes the connection once it has waited for the rest.
    await cut
    await away.get('/auth/me').then(expecting(200))
    await finishMoves(here.deps)
    expect((await change(away, org, node)).status).to.equal(201)
  })

  it('whose other cell has a whole pack before it hears that this was all keeps it', async () => {
    const { org, node } = await newOrg()
    await begin(org)
    const path = `${node}.git`
    const git = gitIn(here, org, node)
    const pack = git.run(['pack-objects', '--quiet', '--revs', '--stdout'], { input: git.head() })
    const { sendPack, setRefs } = await otherThere()
    const arrived = join(there.dataDir, 'arriving', org, path, 'objects/pack')
    const late = async function* () {
      yield pack
      await until(() => existsSync(arrived) && readdirSync(arrived).some((name) => name.endsWith('.idx')))
      await sleep(200)
    }
    await sendPack(org, path, Readable.from(late(), { objectMode: false }))
    expect(await setRefs(org, path, new Map([['refs/heads/main', git.head()]]))).to.match(/^[0-9a-f]{64}$/)
    await finishMoves(here.deps)
    expect((await change(ann, org, node)).status).to.equal(201)
  })

  async function otherThere() {
    const cell = await findCell(here.deps.credentials.read, 'there')
    if (cell === undefined) throw new Error('There is no such cell')
    return connectToCell(here.deps, cell, new AbortController().signal)
  }

  async function newOrg() {
    const org: string = (await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))).body.id
    const made = await ann.post(`/orgs/${org}/nodes`, { title: 'Krill', text_content: 'Small.' })
    return { org, node: String(expecting(201)(made).body.id) }
  }
})

function change(person: PersonClient, org: string, node: string) {
  const changes = [{ action: 'put', path: 'content.md', content: 'Changed.' }]
  return person.post(`/orgs/${org}/nodes/${node}/tree/main/commits`, { message: 'Change', changes })
}

function* noPack() {
  for (;;) yield Buffer.alloc(16_384, 'no pack ')
}

async function begin(orgId: string, from = 'here', to = 'there') {
  const begun = await here.deps.credentials.write((trx) => beginMove(trx, { orgId, from, to }))
  if (begun === undefined) throw new Error('It is not there')
  return begun
}
