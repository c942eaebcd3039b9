/** Services that embed over one data folder are killed. The rows are those of a rebuild, and no text is sent twice. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { type EmbeddingsEndpoint, startEmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'
import { faultsIn } from '../support/log.ts'
import { expecting } from '../support/node.ts'
import type { SpawnedGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import {
  at,
  type Filled,
  fill,
  isQuestion,
  loseVectors,
  repeated,
  rowsIn,
  search,
  serve,
  storedKeyOf,
  textRequests,
  textsIn,
  untilCovered,
} from './killed-scene.ts'

type Behaviour = NonNullable<EmbeddingsEndpoint['behaviour']>

const sent: Behaviour = async (_request, res, answer) => {
  const finished = new Promise((resolve) => res.once('finish', resolve))
  answer()
  await finished
}

describe('services that embed and are killed', () => {
  let filled: Filled
  let endpoint: EmbeddingsEndpoint
  let groves: SpawnedGrove[]

  beforeEach(async () => {
    groves = []
    endpoint = await startEmbeddingsEndpoint()
    filled = await fill()
  })
  afterEach(async () => {
    await Promise.all(groves.map((grove) => grove.kill()))
    await endpoint.close()
    await rm(filled.dataDir, { recursive: true, force: true })
  })

  const start = async (key?: string) => {
    const grove = await serve(filled, endpoint, key)
    groves.push(grove)
    return grove
  }
  const stop = async (grove: SpawnedGrove) => {
    expect(await grove.stop()).to.equal(0)
    expect(faultsIn(grove.output().stderr)).to.deep.equal([])
  }
  /** Answers questions, and so many requests with texts. The next one has its own answer, and later ones have none. */
  const onceAsked = (requests: number, then: Behaviour): Promise<void> =>
    new Promise((reached) => {
      let count = 0
      endpoint.behaviour = async (request, res, answer) => {
        if (isQuestion(request) || ++count <= requests) return answer()
        if (count > requests + 1) return
        await then(request, res, answer)
        reached()
      }
    })

  /** When to kill: after so many answered requests since the start, during the next one. */
  const moments: readonly [when: string, answered: number, during: Behaviour][] = [
    ['while the first request is under way', 0, () => {}],
    ['when part of an answer was sent', 0, (_, res) => void res.writeHead(200, { 'content-length': 9_000 }).write('{')],
    ['when one of two batches of a step is stored', 1, () => {}],
    ['just after an answer was sent', 0, sent],
    ['just after the last answer of a step was sent', 1, sent],
    ['when nodes are stored', 2, () => {}],
  ]

  it('have the rows of a rebuild, and ask for no text again whose vector is stored', async () => {
    let stored = new Set<string>()
    for (const [when, answered, during] of moments) {
      const before = textRequests(endpoint).length
      const reached = onceAsked(answered, during)
      const grove = await start()
      await reached
      await grove.kill()
      const asked = textRequests(endpoint).slice(before)
      expect(
        textsIn(asked).filter((text) => stored.has(storedKeyOf(text))),
        when,
      ).to.deep.equal([])
      stored = new Set(rowsIn(filled).passages.map(({ key }) => key))
      // A kill loses one batch.
      const lost = textsIn(asked.slice(0, answered)).filter((text) => !stored.has(storedKeyOf(text)))
      expect(lost, when).to.deep.equal([])
    }
    endpoint.behaviour = undefined
    const before = textRequests(endpoint).length
    const last = await start()
    await untilCovered(last, filled)
    await stop(last)
    const rest = textsIn(textRequests(endpoint).slice(before))
    expect(rest).to.not.have.length(0)
    expect(rest.filter((text) => stored.has(storedKeyOf(text)))).to.deep.equal([])
    const rows = rowsIn(filled)

    await loseVectors(filled)
    const all = textRequests(endpoint).length
    const rebuilt = await start()
    await untilCovered(rebuilt, filled)
    await stop(rebuilt)
    expect(rows).to.deep.equal(rowsIn(filled))
    const texts = textsIn(textRequests(endpoint).slice(all))
    expect(repeated(texts)).to.deep.equal([])
    expect(texts.map(storedKeyOf).sort()).to.deep.equal(rows.passages.map(({ key }) => key))
  })

  it('take turns: one embeds, another takes over when it is killed, and both find the same', async () => {
    const answered = 7
    const held = onceAsked(answered, () => {})
    const names = ['one', 'two'] as const
    const [one, two] = await Promise.all([start('one'), start('two')])
    await held
    const first = namesOf(textRequests(endpoint))
    expect(first).to.have.length(1)
    const [dying, living, other] = first[0] === 'one' ? [one, two, 'two'] : [two, one, 'one']
    // More than half of the nodes have vectors.
    await expectSame(dying, living)
    await dying.kill()
    expect(namesOf(textRequests(endpoint))).to.deep.equal(first)
    const { length } = textRequests(endpoint)
    endpoint.behaviour = undefined
    await untilCovered(living, filled)
    const later = textRequests(endpoint).slice(length)
    expect(namesOf(later)).to.deep.equal([other])
    const sent = [...textRequests(endpoint).slice(0, answered), ...later]
    expect(repeated(textsIn(sent))).to.deep.equal([])
    expect(sent.flatMap(({ body }) => body.input.map(storedKeyOf)).sort()).to.deep.equal(
      rowsIn(filled).passages.map(({ key }) => key),
    )

    const again = await start(names.find((name) => name !== other))
    await expectSame(again, living)
    const before = textRequests(endpoint).length
    const page = { title: 'Seals', text_content: 'Plankton' }
    await at(again, filled).post(`/orgs/${filled.ann.org}/nodes`, page).then(expecting(201))
    await until(() => textRequests(endpoint).length > before)
    await untilCovered(again, filled)
    await expectSame(again, living)
    const added = textRequests(endpoint).slice(before)
    expect([textsIn(added), namesOf(added)]).to.deep.equal([['Seals\nPlankton'], [other]])
    await Promise.all([stop(again), stop(living)])
  })

  /** Searches by words and by meaning. A question is late if the machine is busy, and its vector is kept. */
  async function expectSame(here: SpawnedGrove, there: SpawnedGrove): Promise<void> {
    for (const [query, state] of [
      ['krill', 'not_needed'],
      ['krillandfood', 'used'],
    ] as const) {
      const answers = [here, there].map(async (grove) => {
        await until(async () => (await search(grove, filled, query)).meaning.state !== 'unavailable')
        return search(grove, filled, query)
      })
      const [mine, theirs] = await Promise.all(answers)
      expect([mine.meaning.state, mine.matches.length > 0], query).to.deep.equal([state, true])
      expect(mine, query).to.deep.equal(theirs)
    }
  }
})

/** The services that sent the requests. */
function namesOf(requests: ReturnType<typeof textRequests>): string[] {
  return [...new Set(requests.map(({ headers }) => headers.authorization?.replace('Bearer ', '') ?? ''))]
}
