/** Valid commits with unusual times, encodings, names and messages. */

import { expect } from 'chai'
import { remoteUrl } from '../support/desk.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { ann, desk, grove, useScene } from './scene.ts'

interface Raw {
  readonly parents?: readonly string[]
  readonly author?: string
  readonly authored?: number
  readonly committed?: number | string
  readonly headers?: string
  readonly message?: string
}

describe('odd commits', () => {
  useScene()

  /** The bytes of a commit of main's tree. */
  function content(node: TestNode, { parents = [node.git.head()], message = 'Odd\n', ...raw }: Raw): Buffer {
    const { author = 'Ann <ann@example.org>', authored = 1_700_000_000, committed = authored, headers = '' } = raw
    const lines = [
      `tree ${node.git.say('rev-parse', 'main^{tree}')}`,
      ...parents.map((parent) => `parent ${parent}`),
      `author ${author} ${authored} +0000`,
      `committer Ann <ann@example.org> ${committed} +0000`,
    ]
    return Buffer.concat([Buffer.from(`${lines.join('\n')}\n${headers}\n`), Buffer.from(message)])
  }

  /** A commit that lies in the node's repository. */
  function store(node: TestNode, raw: Raw): string {
    const input = content(node, raw)
    return node.git.run(['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], { input }).toString().trim()
  }

  /** Pushes a commit from a clone. */
  async function push(node: TestNode, raw: Raw, ref: string, parent?: Raw) {
    const remote = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    const make = (bytes: Buffer) =>
      `$(base64 -d <<< ${bytes.toString('base64')} | git -C ${node.id} hash-object -t commit -w --stdin --literally)`
    await desk.done(`[ -e ${node.id} ] || git clone -q ${remote} ${node.id}`)
    const below = parent && (await desk.done(`echo ${make(content(node, parent))}`)).trim()
    const bytes = content(node, below ? { ...raw, parents: [below] } : raw)
    return desk.sh(`git -C ${node.id} push -q origin ${make(bytes)}:${ref}`)
  }

  /** Every way to read a node and its branches. */
  async function readAll(node: TestNode): Promise<number[]> {
    const paths = ['', '/branches', '/tags', '/tree/main', '/tree/main/commits', '/pull-requests']
    return Promise.all(paths.map(async (path) => (await ann.get(node.at + path)).status))
  }

  it('one dated after the year 9999 cannot be pushed, at the tip or below it, to a branch or a tag', async () => {
    const node = await newNode(grove, ann)
    const late = 10_000_000_000_000
    for (const [raw, ref, parent] of [
      [{ committed: late }, 'refs/heads/main'],
      [{ authored: late, committed: 1 }, 'refs/heads/late'],
      [{}, 'refs/heads/late', { committed: 253_402_300_800 }],
      [{ committed: late }, 'refs/tags/late'],
    ] as const) {
      const { code, text } = await push(node, raw, ref, parent)
      expect(code, ref).to.not.equal(0)
      expect(text).to.match(/The commit [0-9a-f]{40} has a date after the year 9999; give it another one/)
    }
    expect(node.git.lines('for-each-ref', '--format=%(refname)')).to.deep.equal([
      'refs/grove/ledger',
      'refs/heads/main',
    ])
    expect((await push(node, { committed: 253_402_300_799 }, 'refs/heads/main')).text).to.equal('')
    expect((await ann.get(`${node.at}/branches/main`)).body.updated_at).to.equal('9999-12-31T23:59:59.000Z')
  })

  it('a node that holds one dated after the year 9999 is read, which says 1970, and deleted', async () => {
    const node = await newNode(grove, ann)
    for (const committed of [10_000_000_000_000, '9223372036854775807', '9'.repeat(30)]) {
      node.git.point('late', store(node, { committed }))
      const pr = await node.open('late')
      expect(pr.updated_at).to.equal(pr.created_at)
      node.git.point('main', node.git.head('late'))
      expect(await readAll(node)).to.deep.equal([200, 200, 200, 200, 200, 200])
      const { history } = (await ann.get(`${node.at}/tree/main/commits?limit=1`)).body
      expect(history[0].created_at).to.equal('1970-01-01T00:00:00.000Z')
      await node.commit('main', { 'after.md': String(committed) })
    }
    await ann.delete(node.at).then(expecting(204))
  })

  it('one in UTF-16 is read by its headers, also below a branch and a tag', async () => {
    const node = await newNode(grove, ann)
    const odd = { headers: 'encoding utf-16le\n', message: 'Whales\n' }
    expect(await push(node, odd, 'refs/tags/v1')).to.deep.equal({ code: 0, text: '' })
    expect(await push(node, {}, 'refs/heads/main', odd)).to.deep.equal({ code: 0, text: '' })
    expect(await readAll(node)).to.deep.equal([200, 200, 200, 200, 200, 200])
    const id = node.git.say('rev-parse', 'v1')
    expect((await ann.get(`${node.at}/tags`)).body.tags).to.deep.equal([{ name: 'v1', object_id: id, commit_id: id }])
    const [base] = (await ann.get(`${node.at}/tree/main/commits/${id}`).then(expecting(200))).body.parent_commits
    expect((await ann.get(`${node.at}/compare?base=${base}&head=${id}`)).body.commits_ahead).to.equal(1)
    expect((await ann.get(`${node.at}/tree/main/commits/${id}`)).body).to.deep.include({
      author: 'Ann',
      message: 'Whales',
    })
  })

  it('a message over 64 KiB is cut in lists, at a whole character, and whole in the details of its commit', async () => {
    const node = await newNode(grove, ann)
    const message = `€${'aé'.repeat(50_000)}`
    const id = store(node, { message: `${message}\n` })
    node.git.point('main', id)
    node.git.point('long', id)
    const [row] = (await ann.get(`${node.at}/tree/main/commits?limit=1`).then(expecting(200))).body.history
    expect(row).to.deep.include({ id, message_truncated: true, message: `€${'aé'.repeat(21_844)}a` })
    expect(Buffer.byteLength(row.message)).to.equal(65_536)
    const { branches } = (await ann.get(`${node.at}/branches`)).body
    for (const branch of branches)
      expect(branch).to.deep.include({ head: id, message_truncated: true, message: row.message })
    const details = (await ann.get(`${node.at}/tree/main/commits/${id}`)).body
    expect(details).to.deep.include({ message }).and.not.have.property('message_truncated')
  })

  it('messages of 4 MiB together are cut to their even share of it', async () => {
    const node = await newNode(grove, ann)
    let head = store(node, { message: 'short\n' })
    for (let n = 0; n < 79; n++) head = store(node, { parents: [head], message: `${n} ${'a'.repeat(100_000)}` })
    node.git.point('main', head)
    for (let n = 0; n < 80; n++) node.git.point(`b${n}`, head)
    const { history } = (await ann.get(`${node.at}/tree/main/commits?limit=80`).then(expecting(200))).body
    const sizes = (rows: { message: string }[]) => rows.map(({ message }) => message.length)
    const share = Math.floor((4 * 1_048_576) / 80)
    expect(sizes(history)).to.deep.equal([...Array(79).fill(share), 'short'.length])
    expect(history[79]).to.not.have.property('message_truncated')
    const { branches } = (await ann.get(`${node.at}/branches?limit=80`).then(expecting(200))).body
    expect(sizes(branches)).to.deep.equal(Array(80).fill(share))
    const [row] = (await ann.get(`${node.at}/tree/main/commits?limit=1`)).body.history
    expect(row.message).to.have.length(65_536)
  })

  it('names, e-mail addresses and parents are also bounded', async () => {
    const node = await newNode(grove, ann)
    const parent = node.git.head()
    const parents = Array.from({ length: 1_001 }, () => parent)
    const id = store(node, { parents, author: `${'n'.repeat(99_999)}😀 <${'e'.repeat(99_999)}>` })
    node.git.point('main', id)
    const [row] = (await ann.get(`${node.at}/tree/main/commits?limit=1`).then(expecting(200))).body.history
    expect(row).to.deep.include({
      author: 'n'.repeat(1_000),
      author_email: 'e'.repeat(1_000),
      parent_commits: parents.slice(1),
      parents_truncated: true,
    })
    const details = (await ann.get(`${node.at}/tree/main/commits/${id}`)).body
    expect(details).to.deep.include({ parent_commits: parents }).and.not.have.property('parents_truncated')
  })
})
