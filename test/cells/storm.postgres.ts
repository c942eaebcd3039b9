/** Organisations that are made and deleted in two cells, while both compare the directory with their folders. */
import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { reconcilePlaces } from '../../server/domain/cells/reconciliation.ts'
import { ensurePersonalOrg } from '../../server/domain/orgs/orgs.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { here, listedAt, newcomer, orgsIn, signIn, there, useCells } from './scene.ts'

/** Of each of six who write. */
const rounds = 15

describe('a directory that two cells write', () => {
  useCells({ sweeps: false, logLevel: 'error' })

  it('says where each folder is, and of each that was deleted that it is gone', async () => {
    const ann = await signUp(here, 'Ann')
    const away = await signIn(there, ann)
    const kept: string[] = [ann.org]
    const deleted: string[] = []
    let over = false
    const compare = [here, there].map(async ({ deps }) => {
      while (!over) await reconcilePlaces(deps)
    })
    const write = async (person: PersonClient, writer: number) => {
      for (let round = 0; round < rounds; round++) {
        const { id } = (await person.post('/orgs', { name: `${writer} ${round}` }).then(expecting(201))).body
        if (round % 3 === 0) {
          await person.delete(`/orgs/${id}`).then(expecting(204))
          deleted.push(id)
        } else kept.push(id)
        const { person: newborn, org } = await newcomer('New')
        await Promise.all([here, there].map(({ deps }) => ensurePersonalOrg({ ...deps, actor: newborn }, org)))
      }
    }
    await Promise.all([ann, away, ann, away, ann, away].map(write)).finally(() => {
      over = true
    })
    await Promise.all(compare)
    const places = await here.deps.credentials.read.selectFrom('place').selectAll().execute()
    for (const [cell, grove] of Object.entries({ here, there })) {
      const said = places.filter((place) => place.cell === cell && place.state === 'here').map(({ org_id }) => org_id)
      expect(said.sort()).to.deep.equal((await orgsIn(grove)).sort())
      expect((await readdir(grove.dataDir)).filter((name) => name.startsWith('foreign-'))).to.deep.equal([])
      expect(grove.logged(), cell).to.equal('')
    }
    const gone = places.filter(({ state }) => state === 'gone').map(({ org_id }) => org_id)
    expect(gone.sort()).to.deep.equal(deleted.sort())
    expect(places).to.have.length(gone.length + kept.length + 6 * rounds)
    for (const person of [ann, away])
      expect((await listedAt(person)).map(({ id }: { id: string }) => id).sort()).to.deep.equal(kept.sort())
  })
})
