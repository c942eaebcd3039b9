/** When a log is known to have every repository of its organisation. */
import { expect } from 'chai'
import { WholeLogs } from '../../server/domain/background/whole-logs.ts'
import { signUp } from '../support/people.ts'
import { forgetAll, grove, pass, useScene } from './scene.ts'

describe('a log is whole', () => {
  useScene({ sweeps: false })

  let org = ''
  let count = 0

  beforeEach(async () => {
    ;({ org } = await signUp(grove, `Owner ${++count}`))
    await forgetAll(grove.deps.events, org)
    pass(60)
  })

  const step = async (logs: WholeLogs, isOver: boolean, hasFailed = false) => {
    logs.begin(grove.deps)
    await logs.end(grove.deps, { isOver, hasFailed })
  }
  const isWhole = async () => {
    const { read } = grove.deps.events
    const { whole } = await read.selectFrom('log').select('whole').where('org_id', '=', org).executeTakeFirstOrThrow()
    return whole === 1
  }

  it('after a round through all repositories, and not after one that began in the middle', async () => {
    const logs = new WholeLogs()
    await step(logs, false)
    await step(logs, true)
    expect(await isWhole()).to.equal(false)
    await step(logs, false)
    expect(await isWhole()).to.equal(false)
    await step(logs, true)
    expect(await isWhole()).to.equal(true)
  })

  it('not after a round in which a repository could not be read', async () => {
    const logs = new WholeLogs()
    await step(logs, true)
    await step(logs, false, true)
    await step(logs, true)
    expect(await isWhole()).to.equal(false)
    await step(logs, true)
    expect(await isWhole()).to.equal(true)
  })

  it('not if it began after the round', async () => {
    const logs = new WholeLogs()
    await step(logs, true)
    await step(logs, false)
    pass(1)
    const late = await signUp(grove, `Late ${count}`)
    await forgetAll(grove.deps.events, late.org)
    await step(logs, true)
    expect(await isWhole()).to.equal(true)
    ;({ org } = late)
    expect(await isWhole()).to.equal(false)
  })
})
