/** When a log is known to have every repository of its organisation. */
import { expect } from 'chai'
import { RecordedRounds } from '../../server/domain/background/recorded-rounds.ts'
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

  const step = async (rounds: RecordedRounds, isOver: boolean, hasFailed = false) => {
    rounds.begin(grove.deps)
    await rounds.end(grove.deps, { isOver, hasFailed })
  }
  const isWhole = async () => {
    const { read } = grove.deps.events
    const { whole } = await read.selectFrom('log').select('whole').where('org_id', '=', org).executeTakeFirstOrThrow()
    return whole === 1
  }

  it('after a round through all repositories, and not after one that began in the middle', async () => {
    const rounds = new RecordedRounds()
    await step(rounds, false)
    await step(rounds, true)
    expect(await isWhole()).to.equal(false)
    await step(rounds, false)
    expect(await isWhole()).to.equal(false)
    await step(rounds, true)
    expect(await isWhole()).to.equal(true)
  })

  it('not after a round in which a repository could not be read', async () => {
    const rounds = new RecordedRounds()
    await step(rounds, true)
    await step(rounds, false, true)
    await step(rounds, true)
    expect(await isWhole()).to.equal(false)
    await step(rounds, true)
    expect(await isWhole()).to.equal(true)
  })

  it('not if it began after the round', async () => {
    const rounds = new RecordedRounds()
    await step(rounds, true)
    await step(rounds, false)
    pass(1)
    const late = await signUp(grove, `Late ${count}`)
    await forgetAll(grove.deps.events, late.org)
    await step(rounds, true)
    expect(await isWhole()).to.equal(true)
    ;({ org } = late)
    expect(await isWhole()).to.equal(false)
  })
})
