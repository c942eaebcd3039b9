/** `QUOTA_ORGS` refuses new organisations of a user who owns enough of them. */
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { type User, useWorld } from '../support/world.ts'

describe('the quota of organisations', () => {
  const { newUser } = useWorld({}, { quotaOrgs: 4 })

  const create = (person: User) => person.post('/orgs', { name: 'Sea' })
  const owned = async (person: User) => (await person.api.listOrgs()).total

  it('counts the own organisation, and says why it refuses one', async () => {
    const ann = await newUser('Ann')
    for (let made = 1; made < 4; made++) await create(ann).then(expecting(201))
    const exceeded = { code: 'quota_exceeded', used: 4, limit: 4, what: 'orgs' }
    expect((await create(ann).then(expecting(403))).body).to.deep.include(exceeded)
  })

  it('lets other users create, and has room again after a deletion', async () => {
    const [bob, eve] = [await newUser('Bob'), await newUser('Eve')]
    const made = []
    for (let at = 1; at < 4; at++) made.push((await create(bob).then(expecting(201))).body.id)
    await create(bob).then(expecting(403))
    await create(eve).then(expecting(201))
    await bob.delete(`/orgs/${made[0]}`).then(expecting(204))
    await create(bob).then(expecting(201))
  })

  it('counts organisations of others that the user owns, but not those of which they are a member', async () => {
    const [dan, pia] = [await newUser('Dan'), await newUser('Pia')]
    const role = (org: string, role: string) =>
      dan.put(`/orgs/${org}/members/${pia.user.email}`, { role }).then(expecting(200))
    const given = (await create(dan).then(expecting(201))).body.id
    await role(given, 'maintainer')
    await create(pia).then(expecting(201))
    await create(pia).then(expecting(201))
    await role(given, 'owner')
    expect((await create(pia).then(expecting(403))).body.used).to.equal(4)
    await role(given, 'editor')
    await create(pia).then(expecting(201))
  })

  it('holds for 20 creations at once', async () => {
    const ida = await newUser('Ida')
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(ida)))
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([count(201), count(403), await owned(ida)]).to.deep.equal([3, 17, 4])
  })
})
