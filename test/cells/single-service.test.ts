/** A service that is the only one of its database: it has every organisation, and nothing of what only a cell has. */
import { expect } from 'chai'
import { v7 as newId } from 'uuid'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { requireCell } from '../../server/domain/cells/cell.ts'
import { singleService } from '../../server/domain/placement.ts'
import { expecting } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { metricsToken, parseScrape } from '../support/scrapes.ts'
import { useWorld } from '../support/world.ts'

describe('a service without cells', () => {
  const { grove } = useWorld({}, { metricsToken })

  it('may write, and has every organisation, made or not', async () => {
    const { placement } = grove.deps
    expect(placement).to.equal(singleService)
    expect(placement.lease.isHeld()).to.equal(true)
    expect(placement.isHere(newId())).to.equal(true)
    expect(await placement.findElsewhere(newId())).to.equal(undefined)
  })

  it('is not taken for a cell', () => {
    expect(() => requireCell(grove.deps)).to.throw('CELL is not set')
  })

  it('has no address for other cells', async () => {
    const asked = await Promise.all(
      [`/internal/arrivals/${newId()}/repositories`, `/internal/nothing/${newId()}`].map(async (path) => {
        const { status, body } = await client(grove).get(path)
        return [status, body.code]
      }),
    )
    expect(asked[0]).to.deep.equal(asked[1])
  })

  it('takes the header of a request that was passed on for one of no meaning', async () => {
    await client(grove).get('/healthz', { 'grove-forwarded': 'nonsense' }).then(expecting(200))
  })

  it('measures no lease', async () => {
    const scrape = parseScrape((await client(grove, metricsToken).get('/metrics').then(expecting(200))).body)
    expect(scrape.get('grove_cell_lease_seconds')).to.deep.equal([])
  })

  it('lists no places, and gives a walk back where it was', async () => {
    const ann = await signUp(grove, 'Ann')
    await updateAccount(
      { ...grove.deps, actor: operator },
      { path: { account_id: ann.user.id }, body: { is_admin: true } },
    )
    const { body } = await client(grove).post('/auth/login', { email: ann.user.email, password }).then(expecting(200))
    for (const [query, next] of [
      ['', '0'],
      ['?since=5', '5'],
    ])
      expect(
        (await client(grove, body.accessToken).get(`/admin/places${query}`).then(expecting(200))).body,
      ).to.deep.equal({
        places: [],
        next,
        more: false,
      })
  })
})
