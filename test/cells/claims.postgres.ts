/** Which cell has an organisation: claimed before it is made, and kept after it was deleted. */
import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { insertPlaces } from '../../index/credentials/places.ts'
import { reconcilePlaces } from '../../server/domain/cells/reconciliation.ts'
import { ensurePersonalOrg } from '../../server/domain/orgs/orgs.ts'
import { runCommand } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import {
  cellNamed,
  database,
  here,
  listedAt,
  newcomer,
  orgsIn,
  placeOf,
  setUrls,
  signIn,
  startCell,
  there,
  useCells,
} from './scene.ts'

/** As many as showed two folders in some without the claim. */
const rounds = 20

describe('an organisation', () => {
  useCells()

  it('is of the cell where it was made; another makes no second personal one', async () => {
    const ann = await signUp(here, 'Ann')
    expect(await placeOf(ann.org)).to.include({ cell: 'here', state: 'here' })
    const away = await signIn(there, ann)
    expect(away.org).to.equal(ann.org)
    expect(await orgsIn(there)).to.deep.equal([])
    expect((await listedAt(away)).map(({ id }: { id: string }) => id)).to.deep.equal([ann.org])
    expect((await away.hasty.get(`/orgs/${ann.org}`)).status).to.be.oneOf([200, 404, 503])
  })

  it('asked of two cells at once is made in one', async () => {
    for (let round = 0; round < rounds; round++) {
      const { person, org } = await newcomer('Twin')
      await Promise.all(
        [here, there, here, there].map(({ deps }) => ensurePersonalOrg({ ...deps, actor: person }, org)),
      )
      const has = await Promise.all([here, there].map(async (grove) => (await orgsIn(grove)).includes(org)))
      const cells = [here, there].filter((_, at) => has[at])
      expect(cells, `round ${round}`).to.have.length(1)
      const { cell, state } = (await placeOf(org)) ?? {}
      expect([cell, state]).to.deep.equal([cells[0] === here ? 'here' : 'there', 'here'])
    }
  })

  it('that a crash left claimed is made by its cell, and by no other', async () => {
    const { person, org } = await newcomer('Bea')
    await here.deps.credentials.write((trx) => insertPlaces(trx, 'here', [org], 'making'))
    await ensurePersonalOrg({ ...there.deps, actor: person }, org)
    expect(await orgsIn(there)).to.not.include(org)
    await ensurePersonalOrg({ ...here.deps, actor: person }, org)
    expect(await orgsIn(here)).to.include(org)
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here' })
  })

  it('that was claimed an hour ago, without a folder, is free again; with one it is here', async () => {
    const [left, made] = [await newcomer('Cy'), await newcomer('Di')]
    await ensurePersonalOrg({ ...here.deps, actor: made.person }, made.org)
    await here.deps.credentials.write(async (trx) => {
      await insertPlaces(trx, 'here', [left.org], 'making')
      await trx.updateTable('place').set({ state: 'making' }).where('org_id', '=', made.org).execute()
    })
    await reconcilePlaces(here.deps)
    expect([(await placeOf(left.org))?.state, (await placeOf(made.org))?.state]).to.deep.equal(['making', 'here'])
    await here.deps.credentials.write((trx) =>
      trx.updateTable('place').set({ since: 0 }).where('org_id', '=', left.org).execute(),
    )
    await reconcilePlaces(there.deps)
    expect(await placeOf(left.org)).to.not.equal(undefined)
    await reconcilePlaces(here.deps)
    expect(await placeOf(left.org)).to.equal(undefined)
    await ensurePersonalOrg({ ...there.deps, actor: left.person }, left.org)
    expect(await placeOf(left.org)).to.include({ cell: 'there', state: 'here' })
  })

  it('that was deleted is recreated by no cell, also when its trash is gone', async () => {
    const eve = await signUp(here, 'Eve')
    await eve.delete(`/orgs/${eve.org}`).then(expecting(204))
    expect(await placeOf(eve.org)).to.include({ cell: 'here', state: 'gone' })
    await rm(join(here.dataDir, 'trash'), { recursive: true })
    for (const grove of [here, there]) expect(await listedAt(await signIn(grove, eve))).to.deep.equal([])
    expect([...(await orgsIn(here)), ...(await orgsIn(there))]).to.not.include(eve.org)
  })

  it('whose deletion could not be told is gone with the next sweep', async () => {
    const fay = await signUp(here, 'Fay')
    await fay.delete(`/orgs/${fay.org}`).then(expecting(204))
    await here.deps.credentials.write((trx) =>
      trx.updateTable('place').set({ state: 'here' }).where('org_id', '=', fay.org).execute(),
    )
    await reconcilePlaces(here.deps)
    expect(await placeOf(fay.org)).to.include({ state: 'gone' })
  })

  it('is not made if the operator has closed the cell, and all others', async () => {
    const gus = await signUp(there, 'Gus')
    const set = (open: 0 | 1) => here.deps.credentials.write((trx) => trx.updateTable('cell').set({ open }).execute())
    await set(0)
    const refused = await gus.post('/orgs', { name: 'Atlas' })
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).to.deep.equal([503, 'moving', '2'])
    // A person has an organisation wherever they sign up.
    const hal = await signUp(there, 'Hal')
    expect(await orgsIn(there)).to.include(hal.org)
    await set(1)
    await gus.post('/orgs', { name: 'Atlas' }).then(expecting(201))
  })
})

describe('a data folder', () => {
  useCells()

  it('with an organisation of another cell serves it not, and says so', async () => {
    const ann = await signUp(here, 'Ann')
    const dataDir = await newDataDir()
    const org = join(dataDir, ann.org)
    await cp(join(here.dataDir, ann.org), org, { recursive: true })
    for (const end of ['', /\.\d+$/]) {
      await mkdir(org, { recursive: true })
      const third = await startCell('third', { dataDir, logLevel: 'error' })
      const named = (await readdir(dataDir)).filter((name) => name.startsWith('foreign-'))
      expect(
        named.some((name) => (end === '' ? name === `foreign-${ann.org}` : end instanceof RegExp && end.test(name))),
      ).to.equal(true)
      expect(third.logged())
        .to.include('the folder of an organisation of another cell was renamed')
        .and.to.include(ann.org)
      expect(await orgsIn(third)).to.deep.equal([])
      expect((await (await signIn(third, ann)).hasty.get(`/orgs/${ann.org}`)).status).to.not.equal(200)
      await third.close()
    }
    expect(await placeOf(ann.org)).to.include({ cell: 'here', state: 'here' })
    await ann.get(`/orgs/${ann.org}`).then(expecting(200))
    await rm(dataDir, { recursive: true })
  })

  it('that is an old copy of its cell’s sets aside what has moved away since, and serves the rest', async () => {
    await setUrls()
    const [dataDir, copy] = [await newDataDir(), await newDataDir()]
    const before = await startCell('old', { dataDir })
    const dee = await signUp(before, 'Dee')
    const { id: moved } = (await dee.post('/orgs', { name: 'Moved' }).then(expecting(201))).body
    await before.close()
    await cp(dataDir, copy, { recursive: true })
    const { url } = cellNamed('old')
    const environment = { ...process.env, DATA_DIR: dataDir, DATABASE_URL: database, CELL: 'old', CELL_URL: url }
    expect(await runCommand(['move-org', moved, 'there'], environment)).to.include({ code: 0 })
    const away = await signIn(there, dee)
    await away.patch(`/orgs/${moved}`, { name: 'Later' }).then(expecting(200))
    const again = await startCell('old', { dataDir: copy, logLevel: 'error' })
    expect(await orgsIn(again)).to.deep.equal([dee.org])
    expect(await readdir(copy)).to.include(`foreign-${moved}`)
    expect(again.logged()).to.include('the folder of an organisation of another cell was renamed').and.to.include(moved)
    expect(await placeOf(moved)).to.include({ cell: 'there', state: 'here', epoch: 2 })
    const person = await signIn(again, dee)
    await person.patch(`/orgs/${dee.org}`, { name: 'Served' }).then(expecting(200))
    expect((await person.get(`/orgs/${moved}`).then(expecting(200))).body.name).to.equal('Later')
    await again.close()
    for (const folder of [dataDir, copy]) await rm(folder, { recursive: true })
  })

  it('that was alone before becomes a cell: what it has is claimed, what it had deleted stays so', async () => {
    const dataDir = await newDataDir()
    const alone = await startGrove({ dataDir, postgres: database })
    const [bob, cleo] = [await signUp(alone, 'Bob'), await signUp(alone, 'Cleo')]
    await cleo.delete(`/orgs/${cleo.org}`).then(expecting(204))
    await alone.close()
    const cell = await startCell('later', { dataDir })
    expect(await placeOf(bob.org)).to.include({ cell: 'later', state: 'here' })
    expect(await placeOf(cleo.org)).to.include({ cell: 'later', state: 'gone' })
    const again = await signIn(cell, bob)
    // The sweep writes the card.
    await until(async () => (await listedAt(again)).length === 1)
    await cell.close()
    for (const wrong of [undefined, cellNamed('other')]) {
      const options = { dataDir, postgres: database, ...(wrong === undefined ? {} : { cell: wrong }) }
      const said = await startGrove(options).catch((error: Error) => error.message)
      expect(said).to.match(/^CELL is (unset|other), but .* belongs to the cell later$/)
    }
    await rm(dataDir, { recursive: true })
  })
})
