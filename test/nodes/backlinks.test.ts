/** The texts that link to a node, with the words around each link. */

import { expect } from 'chai'
import { connectionId, keyOfName } from '../../server/markdown/connection-ids.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the backlinks of a node', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })

  const linking = async (target: TestNode, name: string, text_content: string, title = 'From') => {
    const node = await newNode(grove, ann, { title, text_content })
    const connection = { id: connectionId(keyOfName(name), 'links_to', target.id), target: target.id, type: 'links_to' }
    await ann.post(`${node.at}/connections`, connection).then(expecting(201))
    return node
  }
  const backlinks = async ({ at }: TestNode, query = '') =>
    (await ann.get(`${at}/backlinks${query}`).then(expecting(200))).body

  it('have the sentence of each link, as plain text', async () => {
    const kelp = await newNode(grove, ann, { title: 'Kelp' })
    const text = [
      '# On [[Kelp]]',
      '',
      'First words. Otters live in **forests** of [the',
      'sea](https://a.example) where [[Kelp|giant kelp]] grows',
      '`fast`. Next sentence.',
      '',
      '- One item with [[kelp#Food]]',
      '- another item',
      '',
      '| a | b |\n|---|---|\n| [[Other]] | eats [[Kelp\\|it]] daily |',
      '',
      '```\n[[Kelp]]\n```',
    ].join('\n')
    const from = await linking(kelp, 'Kelp', text)
    const { head } = (await ann.get(from.at).then(expecting(200))).body
    const {
      backlinks: [one, ...others],
      total,
    } = await backlinks(kelp)
    expect([others.length, total]).to.deep.equal([0, 1])
    expect({ ...one, links: undefined }).to.deep.equal({
      ...{ node_id: from.id, title: 'From', commit_id: head, truncated: false, links: undefined },
    })
    expect(
      one.links.map((link: Record<string, unknown>) => [link.line, link.text, link.before, link.after]),
    ).to.deep.equal([
      [1, '', 'On ', ''],
      [4, 'giant kelp', 'Otters live in forests of the sea where ', ' grows fast.'],
      [7, '', 'One item with ', ''],
      [12, 'it', 'Other eats ', ' daily'],
    ])
  })

  it('are those of other nodes by id, also without a link, and by name', async () => {
    const fox = await newNode(grove, ann, { title: 'Fox' })
    const [one, two] = [
      await linking(fox, 'Fox', '[[Fox]] ![[Fox]] [[red/Fox]]', 'One'),
      await linking(fox, 'Fox', 'None.', 'Two'),
    ]
    await ann.post(`${fox.at}/connections`, { target: fox.id }).catch(() => undefined)
    await ann.patch(fox.at, { title: 'Vulpes' }).then(expecting(200))
    const list = async (query = '') => {
      const { backlinks: found, total, limit } = await backlinks(fox, query)
      return [
        total,
        limit,
        ...found.map((item: { node_id: string; links: object[] }) => [item.node_id, item.links.length]),
      ]
    }
    const [first, second] = [one, two].sort((a, b) => (a.id < b.id ? -1 : 1))
    const links = (node: TestNode | undefined, count: number) => [node?.id, node === one ? count : 0]
    expect(await list()).to.deep.equal([2, 20, links(first, 2), links(second, 2)])
    expect(await list('?name=fox')).to.deep.equal([2, 20, links(first, 1), links(second, 1)])
    expect(await list('?name=Vulpes')).to.deep.equal([2, 20, links(first, 0), links(second, 0)])
    expect(await list('?limit=1&offset=1')).to.deep.equal([2, 1, links(second, 2)])
    await ann.delete(two.at).then(expecting(204))
    expect((await list()).slice(0, 3)).to.deep.equal([1, 20, [one.id, 2]])
  })

  it('are 20 links of a text, in sentences of 200 characters, and 50 texts', async () => {
    const ant = await newNode(grove, ann, { title: 'Ant' })
    const long = 'word '.repeat(100)
    await linking(ant, 'Ant', `${long}[[Ant]] ${long}\n\n${'[[Ant]] '.repeat(25)}`)
    const [{ links, truncated }] = (await backlinks(ant)).backlinks
    expect([links.length, truncated]).to.deep.equal([20, true])
    expect(links[0].before)
      .to.match(/^…(word )+$/)
      .and.have.length.within(150, 201)
    expect(links[0].after)
      .to.match(/^( word)+…$/)
      .and.have.length.within(150, 201)
    expect(await ann.get(`${ant.at}/backlinks?limit=51`)).to.deep.include({ status: 422 })
  })

  it('show nothing to a token of one node, and to strangers only what is published', async () => {
    const bear = await newNode(grove, ann, { title: 'Bear' })
    await linking(bear, 'Bear', '[[Bear]]')
    const body = { name: 'one', access: 'read', node_id: bear.id, org_id: ann.org }
    const { token } = (await ann.post('/auth/tokens', body).then(expecting(201))).body
    expect((await client(grove, token).get(`${bear.at}/backlinks`)).body).to.deep.equal({
      ...{ backlinks: [], total: 0, limit: 20, offset: 0 },
    })
    expect((await client(grove).get(`${bear.at}/backlinks`)).status).to.equal(401)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    expect((await client(grove).get(`${bear.at}/backlinks`)).body.total).to.equal(1)
  })
})
