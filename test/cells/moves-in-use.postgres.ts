/** An organisation that moves to and fro while people write to it, read it and push, through both cells. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { locksIn } from '../support/data-folder.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { here, moved, placeOf, setUrls, signIn, there, useCells } from './scene.ts'

const moves = 2
const writers = 6
/** Of the organisation that goes back and forth, an even number. */
const manyMoves = 20
/** Milliseconds between two changes of a client, and between two new nodes: more could not be copied beside this. */
const pauseMs = { change: 50, node: 1_000, slow: 200 }

/** Waits after a request. On a slow machine it waits longer, so that the move has its share of the time. */
const rest = (began: number, leastMs: number) => sleep(Math.max(leastMs, 2 * (performance.now() - began)))

describe('an organisation that moves while it is in use', () => {
  useCells({ logLevel: 'error' })
  let ann: PersonClient
  let away: PersonClient
  let desk: Desk

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
    away = await signIn(there, ann)
    desk = await newDesk()
  })
  after(() => desk?.remove())

  it('loses nothing that was acknowledged, answers nothing but 503 moving beside successes, and is served all the time', async () => {
    const { id: org } = (await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))).body
    await ann.patch(`/orgs/${org}`, { published: true }).then(expecting(200))
    const [pushed = '', ...nodes] = await Promise.all(
      Array.from({ length: writers + 1 }, async (_, at) => {
        const made = await ann.post(`/orgs/${org}/nodes`, { title: `Node ${at}`, text_content: '0' })
        return String(expecting(201)(made).body.id)
      }),
    )
    let over = false
    const others: string[] = []
    const acknowledged = new Map<string, number>()
    let [reads, pushes] = [0, 0]

    const tell = ({ status, body }: Answer, what: string) => {
      if (status !== 503 || body.code !== 'moving') others.push(`${what}: ${status} ${JSON.stringify(body)}`)
    }
    const write = async (node: string, person: PersonClient) => {
      for (let count = 1; !over; ) {
        const began = performance.now()
        const changes = [{ action: 'put', path: 'content.md', content: String(count) }]
        const answer = await person.post(`/orgs/${org}/nodes/${node}/tree/main/commits`, { message: 'Count', changes })
        if (answer.status === 201) acknowledged.set(node, count++)
        else tell(answer, 'a commit')
        await rest(began, pauseMs.change)
      }
    }
    const make = async (person: PersonClient) => {
      for (let count = 1; !over; count++) {
        const began = performance.now()
        const answer = await person.post(`/orgs/${org}/nodes`, { title: `Made ${count}`, text_content: '1' })
        if (answer.status === 201) acknowledged.set(answer.body.id, 1)
        else tell(answer, 'a new node')
        await rest(began, pauseMs.node)
      }
    }
    const read = async (person: PersonClient) => {
      for (let at = 0; !over; at++) {
        const node = nodes[at % nodes.length]
        for (const path of [
          `/orgs/${org}/nodes/${node}`,
          `/orgs/${org}/nodes/${node}/tree/main/commits`,
          `/public/orgs/${org}/graph`,
        ]) {
          const began = performance.now()
          const answer = await person.get(path)
          if (answer.status === 200) reads++
          else tell(answer, path)
          await rest(began, 10)
        }
      }
    }
    const push = async () => {
      const auth = `-c http.extraHeader="Authorization: Bearer ${ann.session.accessToken}"`
      await desk.done(`git ${auth} clone -q ${there.url}/git/${org}/${pushed}.git n`)
      while (!over) {
        const began = performance.now()
        const said = await desk.sh(`cd n; echo ${pushes + 1} > content.md; git commit -qam Count; git ${auth} push -q`)
        if (said.code === 0) pushes++
        else {
          if (!/moving to another cell|on its way|503/.test(said.text)) others.push(said.text)
          await desk.sh('cd n; git reset -q --hard origin/main')
        }
        await rest(began, pauseMs.change)
      }
    }

    const clients = [
      ...nodes.map((node, at) => write(node, at % 2 === 0 ? ann : away)),
      ...[make(ann), make(away), read(ann), read(away), push()],
    ]
    try {
      for (let count = 0; count < moves; count++) await moved(org, count % 2 === 0 ? 'there' : 'here')
    } finally {
      over = true
      await Promise.all(clients)
    }
    expect(others).to.deep.equal([])
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here', epoch: moves + 1 })
    for (const [node, count] of acknowledged) {
      const found = await away.get(`/orgs/${org}/nodes/${node}`).then(expecting(200))
      expect(found.body.text_content).to.equal(String(count))
    }
    const graph = (await away.get(`/public/orgs/${org}/graph`).then(expecting(200))).body
    expect(graph.nodes).to.have.length(acknowledged.size + 1 + nodes.filter((node) => !acknowledged.has(node)).length)
    expect((await away.get(`/orgs/${org}/nodes/${pushed}`)).body.text_content).to.equal(
      pushes === 0 ? '0' : `${pushes}\n`,
    )
    for (const { dataDir } of [here, there]) {
      expect(readdirSync(join(dataDir, 'arriving'))).to.deep.equal([])
      expect(readdirSync(dataDir).filter((name) => name.startsWith('foreign-'))).to.deep.equal([])
    }
    expect(reads).to.be.above(0)
  })

  it('can go back and forth twenty times, with every commit, and leaves nothing but its trash', async () => {
    const { id: org } = (await ann.post('/orgs', { name: 'Tide' }).then(expecting(201))).body
    const { id: node } = (await ann.post(`/orgs/${org}/nodes`, { title: 'Foam' }).then(expecting(201))).body
    let over = false
    const others: string[] = []
    const acknowledged = new Set<string>()
    const write = async (person: PersonClient, path: string) => {
      for (let count = 1; !over; count++) {
        const began = performance.now()
        const changes = [{ action: 'put', path, content: String(count) }]
        const answer = await person.post(`/orgs/${org}/nodes/${node}/tree/main/commits`, { message: 'Count', changes })
        if (answer.status === 201) acknowledged.add(answer.body.id)
        else if (answer.status !== 503 || answer.body.code !== 'moving')
          others.push(`${answer.status} ${JSON.stringify(answer.body)}`)
        await rest(began, pauseMs.slow)
      }
    }
    const clients = [write(ann, 'a.txt'), write(away, 'b.txt')]
    try {
      for (let count = 0; count < manyMoves; count++) {
        const before = acknowledged.size
        await moved(org, count % 2 === 0 ? 'there' : 'here')
        await until(() => others.length > 0 || acknowledged.size > before)
      }
    } finally {
      over = true
      await Promise.all(clients)
    }
    expect(others).to.deep.equal([])
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here', target: null, epoch: manyMoves + 1 })
    const kept = new Set(gitIn(here, org, node).log())
    const lost = [...acknowledged].filter((id) => !kept.has(id))
    expect(lost.map((id) => ({ id, placesWith: foldersWith(id, org, node) }))).to.deep.equal([])
    for (const { dataDir } of [here, there]) {
      expect(readdirSync(join(dataDir, 'arriving'))).to.deep.equal([])
      expect(await locksIn(dataDir)).to.deep.equal([])
      expect(readdirSync(dataDir).filter((name) => name.startsWith('foreign-'))).to.deep.equal([])
      const trash = readdirSync(join(dataDir, 'trash')).filter((name) => name.startsWith(`moved-${org}`))
      expect(trash).to.have.length(manyMoves / 2)
    }
  })
})

/** The folders of both cells, also in the trash, in which a branch of the node has the commit. */
function foldersWith(id: string, org: string, node: string): string[] {
  return [here, there].flatMap(({ dataDir }) => {
    const trash = readdirSync(join(dataDir, 'trash')).filter((name) => name.startsWith(`moved-${org}`))
    return [org, ...trash.map((name) => join('trash', name))]
      .filter((folder) => existsSync(join(dataDir, folder, `${node}.git`)))
      .filter((folder) => gitIn({ dataDir }, folder, node).log().includes(id))
      .map((folder) => join(dataDir, folder))
  })
}
