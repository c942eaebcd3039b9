/** `QUOTA_BYTES` refuses what would add bytes to a full organisation, and nothing else. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting, type TestNode } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import { type User, useWorld } from '../support/world.ts'
import { countedBytes, diskBytes } from './disk.ts'

const limit = 300_000
/** The files that Git adds to a small pack: its index and its reverse index. */
const indexBytes = 2_048

describe('the quota of bytes', () => {
  const { grove, newUser } = useWorld({}, { quotaBytes: limit, sweeps: false })
  let desk: Desk
  before(async () => {
    desk = await newDesk()
  })
  after(() => desk.remove())

  let people = 0
  /** A user with a node in their own organisation. */
  async function someone(): Promise<{ ann: User; node: TestNode; token: string }> {
    const ann = await newUser(`Ann ${++people}`)
    const node = await ann.node()
    const { token } = await ann.api.createToken({ body: { name: 'git', access: 'write' } })
    return { ann, node, token }
  }
  const noise = (bytes: number) => randomBytes(bytes / 2).toString('hex')
  const commit = (ann: PersonClient, { at }: TestNode, content: string, path = 'a.txt', branch = 'main') =>
    ann.post(`${at}/tree/${branch}/commits`, { message: 'A change', changes: [{ action: 'put', path, content }] })

  /** Fills the organisation, so that less than 2,000 bytes are left. */
  async function fill({ ann, node }: { ann: PersonClient; node: TestNode }): Promise<void> {
    for (let size = 200_000, at = 0; size > 1_000; at++)
      if ((await commit(ann, node, noise(size), `${at}.txt`)).status !== 201) size /= 2
  }

  it('refuses a commit, a node, a copy, a batch and a file, and says why', async () => {
    const { ann, node } = await someone()
    await fill({ ann, node })
    const before = await diskBytes(grove, ann.org)
    for (const refused of [
      () => commit(ann, node, noise(20_000)),
      () => ann.patch(node.at, { text_content: noise(20_000) }),
      () => ann.post(`/orgs/${ann.org}/nodes`, { title: 'Full', text_content: noise(20_000) }),
      () => ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes: [{ title: 'Full', text_content: noise(20_000) }] }),
      () => ann.post(`${node.at}/copy`, {}),
    ]) {
      const { body } = await refused().then(expecting(403))
      expect(body).to.include({ code: 'quota_exceeded', limit, what: 'bytes', used: before })
      expect(body.detail).to.match(/until they are purged/)
    }
    expect(await diskBytes(grove, ann.org)).to.equal(before)
  })

  it('lets a neighbour write, and what compresses well', async () => {
    const full = await someone()
    await fill(full)
    const { ann, node } = await someone()
    await commit(ann, node, noise(20_000)).then(expecting(201))
    await commit(ann, node, 'x'.repeat(2 * limit)).then(expecting(201))
  })

  it('lets talk, closing, deleting and restoring', async () => {
    const { ann, node } = await someone()
    await node.proposal('change')
    const other = await ann.node()
    await fill({ ann, node })
    const { number } = await node.open('change')
    await ann.post(`${node.at}/pull-requests/${number}/comments`, { text: 'Full' }).then(expecting(201))
    await ann.patch(`${node.at}/pull-requests/${number}`, { status: 'closed' }).then(expecting(200))
    await ann.delete(other.at).then(expecting(204))
    await ann.post(`/orgs/${ann.org}/trash/${other.id}/restore`, {}).then(expecting(200))
    await ann.delete(node.at).then(expecting(204))
    expect((await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Y', text_content: noise(20_000) })).status).to.equal(403)
  })

  it('bounds edits of proposals, types and settings, and then also talk', async () => {
    const { ann, node } = await someone()
    await node.proposal('change')
    const { number } = await node.open('change')
    const pull = `${node.at}/pull-requests/${number}`
    const org = `/orgs/${ann.org}`
    const edit = (bytes: number) => ann.patch(pull, { description: noise(bytes) })
    const define = () =>
      ann.put(`${org}/types/note`, { definition: { title: 'Note', template: { text_content: noise(60_000) } } })
    const rename = () => ann.patch(org, { name: 'Another' })
    const untilRefused = async (ask: () => Promise<{ status: number; body: { code?: string } }>) => {
      for (let n = 0; n < 60; n++) {
        const { status, body } = await ask()
        if (status === 403) return expect(body.code).to.equal('quota_exceeded')
        expect(status).to.be.oneOf([200, 201])
      }
      return expect.fail('it was never refused')
    }
    // Definitions are in org.git, which no other change counts.
    await untilRefused(define)
    await untilRefused(() => edit(60_000))
    expect(await countedBytes(grove, ann.org)).to.be.at.most(limit + 60_000)
    await edit(1_000).then(expecting(200))
    await ann.patch(pull, { title: 'Small' }).then(expecting(200))
    await untilRefused(() => ann.post(`${pull}/comments`, { text: noise(14_000) }))
    expect(await countedBytes(grove, ann.org)).to.be.at.most(1.1 * limit + 20_000)
    for (const refused of [() => edit(100), rename]) expect((await refused()).body.code).to.equal('quota_exceeded')
    await ann.patch(pull, { status: 'closed' }).then(expecting(200))
    await ann.patch(org, { published: false }).then(expecting(200))
  })

  it.deep('counts the description that each edit of a proposal repeats', async () => {
    const { ann, node } = await someone()
    await node.proposal('change')
    const { number } = await node.open('change')
    const pull = `${node.at}/pull-requests/${number}`
    await ann.patch(pull, { description: noise(60_000) }).then(expecting(200))
    const statuses: number[] = []
    for (let n = 0; n < 60 && !statuses.includes(403); n++)
      statuses.push((await ann.patch(pull, { is_draft: n % 2 === 0 })).status)
    expect(statuses.at(-1)).to.equal(403)
    expect(await countedBytes(grove, ann.org)).to.be.at.most(limit + 60_000)
    await ann.patch(pull, { status: 'closed' }).then(expecting(200))
    expect((await ann.patch(pull, { status: 'open' })).body.code).to.equal('quota_exceeded')
  })

  it('holds for commits that run at once', async () => {
    const { ann, node } = await someone()
    const nodes = [node]
    for (let at = 0; at < 19; at++) nodes.push(await ann.node())
    const answers = await Promise.all(nodes.map((one) => commit(ann, one, noise(60_000))))
    const refused = answers.filter(({ status }) => status === 403).length
    expect(refused).to.be.greaterThan(5).and.lessThan(18)
    expect(await diskBytes(grove, ann.org)).to.be.at.most(limit)
    expect(await countedBytes(grove, ann.org)).to.equal(await diskBytes(grove, ann.org))
  })

  const clone = ({ node, token }: { node: TestNode; token: string }, name: string) =>
    desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id, token)} ${name}`)
  const push = (name: string, bytes: number) =>
    desk.sh(`cd ${name}; head -c ${bytes} /dev/urandom > f; git add f; git commit -qm F; git push -q origin HEAD:main`)

  it.deep('gives a push what is left, and Git shows why it is refused', async () => {
    const one = await someone()
    await clone(one, 'left')
    expect((await push('left', 100_000)).code).to.equal(0)
    // With a small buffer, Git does not say how much it sends.
    for (const buffer of [1_000, 2_000_000]) {
      await desk.done(`cd left; git config http.postBuffer ${buffer}`)
      const large = await push('left', 2 * limit)
      expect(large.code).to.equal(1)
      expect(large.text).to.match(/The organisation has \d+ of at most 300000 bytes, so \d+ more do not fit/)
      await desk.done('cd left; git reset -q --hard HEAD~1')
    }
    await fill(one)
    await desk.done('cd left; git pull -q')
    // Where nothing at all is left, Git stops before it sends objects.
    expect((await push('left', 10_000)).code).to.be.oneOf([1, 128])
    expect(await diskBytes(grove, one.node.org)).to.be.at.most(limit)
  })

  it('refuses a push before its objects, once nothing is left', async () => {
    const one = await someone()
    await clone(one, 'none')
    await one.node.proposal('change')
    await fill(one)
    const { number } = await one.node.open('change')
    // Comments count, although none is refused.
    while ((await countedBytes(grove, one.node.org)) < limit)
      await one.ann.post(`${one.node.at}/pull-requests/${number}/comments`, { text: noise(2_000) }).then(expecting(201))
    const { code, text } = await push('none', 10)
    expect(code).to.equal(128)
    expect(text).to.match(/remote: The organisation has \d+ of at most 300000 bytes, so nothing is left/)
  })

  it.deep('lets 20 pushes at once exceed it by no more than the indexes of their packs', async () => {
    const one = await someone()
    const names = Array.from({ length: 20 }, (_, at) => `at-once-${at}`)
    for (const name of names) await clone(one, name)
    const done = await Promise.all(
      names.map((name) =>
        desk.sh(
          `cd ${name}; head -c 60000 /dev/urandom > f; git add f; git commit -qm F; git push -q origin HEAD:${name}`,
        ),
      ),
    )
    const refused = done.filter(({ code }) => code !== 0)
    expect(refused).to.have.length.within(12, 19)
    for (const { text } of refused) expect(text).to.match(/bytes/)
    expect(await diskBytes(grove, one.node.org)).to.be.at.most(limit + 20 * indexBytes)
    expect(await countedBytes(grove, one.node.org)).to.be.closeTo(await diskBytes(grove, one.node.org), 0.02 * limit)
  })
})
