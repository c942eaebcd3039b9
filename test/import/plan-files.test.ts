/** The plan of an import: files that are not Markdown, in the nodes that show them, and canvases. */

import { expect } from 'chai'
import { at, attachments, connections, plan, unresolved, useGardens } from './garden.ts'

describe('import: the plan', () => {
  useGardens()

  describe('attachments', () => {
    it('go to every node that shows or links to them, else to their folder', async () => {
      const planned = await plan({
        'a.md': '![[map.png|200]]',
        'b/b.md': '[the map](../img/map.png) <img src="../img/pin.svg">',
        'img/map.png': 'map',
        'img/pin.svg': 'pin',
        'img/alone.png': 'alone',
        'b/data.csv': '1,2',
      })
      expect(Object.fromEntries(planned.nodes.map(({ path }) => [path, attachments(planned, path)]))).to.deep.equal({
        '.': ['attachments/img/alone.png'],
        'a.md': ['attachments/img/map.png'],
        'b/b.md': ['attachments/b/data.csv', 'attachments/img/map.png', 'attachments/img/pin.svg'],
      })
      expect(at(planned, 'a.md').files.get('attachments/img/map.png')?.toString()).to.equal('map')
      expect(planned.counts.attachments).to.equal(4)
    })

    for (const [link, file, path] of [
      ['![](attachments/x.png)', 'n/attachments/x.png', 'attachments/x.png'],
      ['![](./img/x.png)', 'n/img/x.png', 'img/x.png'],
      ['![](img%20a.png)', 'n/img a.png', 'img a.png'],
      ['![](/static/x.png)', 'static/x.png', 'static/x.png'],
      ['![](x.png)', 'far/x.png', 'x.png'],
      ['![](img/../y/x.png#part)', 'n/y/x.png', 'y/x.png'],
      ['![](../img/x.png)', 'img/x.png', 'attachments/img/x.png'],
      ['![[x.png]]', 'img/x.png', 'attachments/img/x.png'],
      ['![[x.png]] ![](img/x.png)', 'n/img/x.png', 'img/x.png'],
      ['![](parents/x.png)', 'n/parents/x.png', 'attachments/n/parents/x.png'],
      ['![](Connections/x)', 'n/Connections/x', 'attachments/n/Connections/x'],
      ['[x](content.md)', 'n/content.md', 'attachments/n/content.md'],
      ['[x](NODE.json)', 'n/NODE.json', 'attachments/n/NODE.json'],
    ] as const)
      it(`lie where the text of n/note.md names them: ${link} of ${file} at ${path}`, async () => {
        const planned = await plan({ 'n/note.md': link, [file]: Buffer.from([0xff]) })
        expect([attachments(planned, 'n/note.md'), planned.unresolved]).to.deep.equal([[path], []])
      })

    it('keep to one spelling of the folder for those that no path is named for', async () => {
      const planned = await plan({
        'index.md': '![](Attachments/a.png) ![](x.png)',
        'Attachments/a.png': 'a',
        'Attachments/b.png': 'b',
        'y/x.png': 'x',
        'z.png': 'z',
      })
      expect(attachments(planned, 'index.md')).to.deep.equal([
        'Attachments/a.png',
        'Attachments/Attachments/b.png',
        'x.png',
        'Attachments/z.png',
      ])
      expect(planned.problems).to.deep.equal([])
    })

    it('that no repository can hold are named', async () => {
      const planned = await plan({ 'back\\slash.png': '', 'tab\t.png': '', 'git~1': '' })
      expect(planned.problems.map(({ path }) => path)).to.deep.equal(['back\\slash.png', 'git~1', 'tab\t.png'])
      expect(attachments(planned, '.')).to.deep.equal([])
    })

    it('whose names differ only in case lie apart, in one node as well', async () => {
      const planned = await plan({
        'a.md': '![](IMG/x.png) ![](img/y.png)',
        'b.md': '![](img/y.png)',
        'IMG/x.png': '',
        'img/y.png': '',
      })
      expect([attachments(planned, 'a.md'), attachments(planned, 'b.md'), planned.problems]).to.deep.equal([
        ['IMG/x.png', 'attachments/img/y.png'],
        ['img/y.png'],
        [],
      ])
    })

    it('are named if a node has no room for the second of two such names', async () => {
      const planned = await plan({ 'a.md': '![[X.png]] ![[Y.png]]', 'IMG/X.png': '', 'img/Y.png': '' })
      expect(planned.problems).to.deep.equal([
        { path: 'img/Y.png', reason: 'not attached to a.md: IMG has the same name there, except for case' },
      ])
    })
  })

  describe('a canvas', () => {
    const card = (id: string, file: string) => ({ id, type: 'file', file, x: 0, y: 0, width: 1, height: 1 })
    const canvas = JSON.stringify({
      nodes: [
        card('1', 'x/a.md'),
        card('2', 'b.md'),
        card('3', 'gone.md'),
        card('4', 'p.png'),
        { id: '5', type: 'text', text: '[[b]]' },
      ],
      edges: [
        { id: 'e', fromNode: '1', toNode: '2', label: 'leads to' },
        { id: 'f', fromNode: '2', toNode: '3' },
        { id: 'g', fromNode: '2', toNode: '4' },
        { id: 'h', fromNode: '5', toNode: '2' },
        { id: 'i', fromNode: '1', toNode: '2' },
        { id: 'j', fromNode: '1', toNode: '1' },
      ],
    })

    it('is a file of its folder; its edges connect the nodes of its cards', async () => {
      const planned = await plan({
        'x/a.md': '',
        'b.md': '',
        'p.png': '',
        'x/Map.canvas': canvas,
        'x/Table.base': 'views: []',
      })
      expect(connections(planned, 'x/a.md')).to.deep.equal(['canvas b.md "leads to"'])
      expect(connections(planned, 'b.md')).to.deep.equal([])
      expect(attachments(planned, 'x')).to.deep.equal(['attachments/x/Map.canvas', 'attachments/x/Table.base'])
      expect(unresolved(planned)).to.deep.equal(['x/Map.canvas: missing gone.md'])
    })

    it('that is invalid is kept and named; an empty one is valid', async () => {
      const files = {
        'a.canvas': '{',
        'b.canvas': '[]',
        'c.canvas': '',
        'd.canvas': '{"edges": [{}]}',
        'e.canvas': '{}',
      }
      const { problems, counts } = await plan(files)
      const reason = 'not a valid canvas: kept only as a file'
      expect(problems).to.deep.equal(['a', 'b', 'd'].map((name) => ({ path: `${name}.canvas`, reason })))
      expect(counts.attachments).to.equal(5)
    })
  })
})
