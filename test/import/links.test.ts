/** The links of an imported vault are told as the import resolved them; hostile texts take linear time. */

import { expect } from 'chai'
import fc from 'fast-check'
import { piecesOf } from '../../server/markdown/markdown-facts.ts'
import { expectLinear } from '../search/linear.ts'
import { expecting } from '../support/node.ts'
import { ann, folderOf, importAs, nodesOf, orgIn, useService } from './command.ts'

interface Told {
  kind: string
  embeds: boolean
  target: string
  reason?: string
  node?: { id: string; title: string }
  file?: { path: string; exists: boolean }
}

describe('import', () => {
  useService()

  const linksOf = async (org: string, id: string): Promise<Told[]> =>
    (await ann.get(`/orgs/${org}/nodes/${id}/links`).then(expecting(200))).body.links

  /** `type target` of the connections that the node holds. */
  const connectionsOf = async (org: string, id: string): Promise<string[]> => {
    const { connections } = (await ann.get(`/orgs/${org}/nodes/${id}/connections?limit=200`).then(expecting(200))).body
    return connections
      .filter((one: { source: string }) => one.source === id)
      .map((one: { type: string; target: string }) => `${one.type} ${one.target}`)
      .sort()
  }
  const toldAs = (id: string, links: Told[]) => [
    ...new Set(
      links
        .filter(({ node }) => node && node.id !== id)
        .map(({ node, embeds }) => `${embeds ? 'embeds' : 'links_to'} ${node?.id}`),
    ),
  ]

  const names = ['Idea', 'idea 2', 'Ärger', 'index', 'A.B', 'pics']
  const folders = ['', 'a/', 'a/b/', 'c d/']
  const anyPath = fc
    .tuple(fc.constantFrom(...folders), fc.constantFrom(...names))
    .map(([folder, name]) => folder + name)
  const anyLink = fc.oneof(
    fc
      .tuple(fc.constantFrom('', '!'), fc.oneof(anyPath, fc.constantFrom(...names, 'Nick', 'none', 'p.png')))
      .map(([mark, name]) => `${mark}[[${name}]]`),
    fc
      .tuple(
        fc.constantFrom('', '!'),
        fc.constantFrom('', './', '../', '/'),
        anyPath,
        fc.constantFrom('', '.md', '.html', '/'),
      )
      .map(([mark, up, path, ending]) => `${mark}[x](<${up}${path}${ending}#part>)`),
    fc.constantFrom('![p](p.png)', '![p](/a/p.png)', '`[[Idea]]`', '%% [[Idea]] %%', '{{< ref "[[Idea]]" >}}'),
  )
  const anyVault = fc.uniqueArray(fc.tuple(anyPath, fc.array(anyLink, { maxLength: 8 })), {
    minLength: 2,
    maxLength: 9,
    selector: ([path]) => path.toLowerCase(),
  })

  it.deep('is told by the links of each node, whatever the vault', async () => {
    let [nodes, runs] = [0, 0]
    await fc.assert(
      fc.asyncProperty(anyVault, async (vault) => {
        const files = vault.map(([path, links], at) => [
          `${path}.md`,
          `${at === 0 ? '---\naliases: [Nick]\n---\n' : ''}Text ${at}: ${links.join(', ')}\n`,
        ])
        const org = orgIn(
          await importAs(await folderOf(`Vault ${runs++}`, { ...Object.fromEntries(files), 'a/p.png': 'p' })),
        )
        const { body } = await ann.get(`/orgs/${org}/nodes?limit=200`)
        for (const { id, properties } of body.nodes) {
          const links = await linksOf(org, id)
          const what = JSON.stringify([vault, properties])
          const told = toldAs(id, links).sort()
          expect(told, what).to.deep.equal(await connectionsOf(org, id))
          nodes += told.length
        }
      }),
      { numRuns: 12, endOnFailure: true },
    )
    expect(nodes).to.be.greaterThan(0)
  })

  it('is not told by the embed of one of two notes of its name, if the import left it unresolved', async () => {
    const files = { 'a/Twin.md': 'One.', 'b c/Twin.md': 'Two.', 'Start.md': '![[Twin]] [x](Twin)' }
    const org = orgIn(await importAs(await folderOf('Twins', files)))
    const nodes = await nodesOf(org)
    const links = await linksOf(org, nodes.get('Start')?.id ?? '')
    expect(links.map(({ kind, reason }) => reason ?? kind)).to.deep.equal(['node', 'not_found'])
  })

  it('is told by the place of each file in the repository, whichever way the text names it', async () => {
    const written = [
      '![](img/x.png)',
      '![](./img/../img/x.png#part)',
      '![](img%20a.png)',
      '![](/static/y.png)',
      '![](only.png)',
      '![](../up.png)',
      '![[x.png]]',
      '![[far.png|100]]',
      '<img src="parents/p.png">',
      '[c](content.csv)',
    ]
    const pictures = ['n/img/x.png', 'n/img a.png', 'static/y.png', 'far/only.png', 'up.png', 'far/far.png']
    const files = [...pictures, 'n/parents/p.png', 'n/content.csv'].map((path) => [path, path])
    const folder = await folderOf('Shown', { ...Object.fromEntries(files), 'n/note.md': written.join('\n\n') })
    const org = orgIn(await importAs(folder))
    const links = await linksOf(org, (await nodesOf(org)).get('Note')?.id ?? '')
    expect(links.map(({ file }) => ({ path: file?.path, exists: file?.exists }))).to.deep.equal(
      [
        'img/x.png',
        'img/x.png',
        'img a.png',
        'static/y.png',
        'only.png',
        'attachments/up.png',
        'img/x.png',
        'attachments/far/far.png',
        'attachments/n/parents/p.png',
        'content.csv',
      ].map((path) => ({ path, exists: true })),
    )
  })

  it('is told by a connection after its target has moved, and as deleted after that is deleted', async () => {
    const folder = await folderOf('Moved', { 'a.md': 'See [[Old name]].', 'x/Old name.md': '# Old' })
    const org = orgIn(await importAs(folder))
    const nodes = await nodesOf(org)
    const [a = '', old = ''] = [nodes.get('A')?.id, nodes.get('Old')?.id]
    await ann.patch(`/orgs/${org}/nodes/${old}`, { title: 'New', properties: { source_path: 'y/New.md' } })
    expect((await linksOf(org, a)).map(({ node }) => node)).to.deep.equal([{ id: old, title: 'New' }])
    await ann.delete(`/orgs/${org}/nodes/${old}`).then(expecting(204))
    expect((await linksOf(org, a)).map(({ reason }) => reason)).to.deep.equal(['deleted'])
  })

  describe('of a hostile text takes linear time:', () => {
    const parts = [
      '[',
      '![',
      '[[',
      '[a](',
      '[a][',
      '[x](<',
      '[[a]] ',
      '`',
      '<a ',
      '<!--',
      '{{<',
      '{{% ',
      '%% ',
      '%%\n',
      '> ',
      '- ',
    ]
    for (const part of [
      ...parts,
      '| a ',
      '\\|',
      '|\n|-|\n',
      '[a]: b\n',
      'https://a',
      '<a href="',
      '[^',
      '\\[',
      '+++\n',
      '[[a.b]]\n',
    ])
      it(JSON.stringify(part), () => {
        expectLinear((text) => [...piecesOf(text)], part, 128 * 1_024)
      })
  })
})
