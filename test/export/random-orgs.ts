/** Random organisations, with all that an export has to write. */

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'

const json = (value: unknown) => Buffer.from(`${JSON.stringify(value, null, 2)}\n`)

const line = (max: number) =>
  fc.oneof(
    fc.constantFrom(
      'A',
      'a',
      'é',
      'e\u0301',
      'CON',
      'a/b',
      '.hidden',
      'index',
      '👩‍👩‍👧',
      'no',
      '1e3',
      '#tag',
      'two  spaces',
      '語'.repeat(90),
    ),
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: max })
      .filter((text) => !/[\p{Cc}\p{Cs}]/u.test(text) && text.trim() !== ''),
  )
const properties = fc.dictionary(
  fc.oneof(
    fc.constantFrom('title', 'tags', 'tag', 'id', 'grove', 'aliases', 'date', 'up'),
    fc.string({ maxLength: 6 }),
  ),
  fc.oneof(
    fc.constantFrom<unknown>(
      '2024-01-01',
      'no',
      '[[A]]',
      '',
      null,
      true,
      1e21,
      0.1,
      ['a', 1],
      { a: { b: [] } },
      'nul\0',
      'x\u2028---\ny',
      'a\r\nb',
    ),
    fc.string(),
    fc.integer(),
    fc.array(fc.string()),
  ),
  { maxKeys: 4 },
)
const text = fc.oneof(
  fc.constantFrom(
    '',
    '\n',
    '---\ntitle: x\n---\n',
    '# Heading #tag\n',
    '[[A]] and [[Nowhere]] ![[x.png]]',
    '\ufeffBOM',
    '+++\n',
    'a\r\nb',
  ),
  fc.string({ unit: 'grapheme' }).filter((one) => !/\p{Cs}/u.test(one)),
)
const file = fc.record({
  path: fc.constantFrom(
    'x.png',
    'img/x.png',
    'attachments/x.png',
    'attachments/img/y.svg',
    'README.md',
    'docs/note.md',
    '.obsidian/app.json',
    'A.md',
    'NUL.txt',
    'node_modules/x',
    'é.txt',
  ),
  content: fc.constantFrom('one', 'two', '', '---\nid: x\ngrove: {}\n---\n'),
})
const node = fc.record({
  title: line(20),
  tags: fc.uniqueArray(line(10), { maxLength: 3 }),
  properties,
  text,
  files: fc.uniqueArray(file, { maxLength: 3, selector: ({ path }) => path }),
  source: fc.option(fc.constantFrom('.', 'a.md', 'a', 'a/b.md', 'A.md', 'a/index.md', '../x.md', 'CON.md'), {
    nil: undefined,
  }),
  others: fc.constantFrom({}, { future: [1, 'two'] }),
  // Of nodes that come before: no cycle.
  parents: fc.array(fc.record({ at: fc.nat({ max: 20 }), label: fc.constantFrom('', 'part of') }), { maxLength: 3 }),
  connections: fc.array(
    fc.record({
      at: fc.nat({ max: 20 }),
      type: fc.constantFrom('links_to', 'related_to'),
      label: fc.oneof(fc.constant(''), line(5)),
    }),
    { maxLength: 3 },
  ),
})

/** The nodes of an organisation, with ids of their own. */
export const randomOrg = fc.array(node, { minLength: 1, maxLength: 8 }).map((list) => {
  const ids = list.map(() => randomUUID())
  return list.map(({ title, tags, text, files, source, others, parents, connections, ...node }, at) => {
    const tree = new Map<string, Buffer>([
      [
        'node.json',
        json({
          title,
          tags,
          properties: { ...node.properties, ...(source === undefined ? {} : { source_path: source }) },
          ...others,
        }),
      ],
      ...files.map(({ path, content }) => [path, Buffer.from(content)] as const),
    ])
    if (text !== '') tree.set('content.md', Buffer.from(text))
    for (const parent of at === 0 ? [] : parents)
      tree.set(`parents/${ids[parent.at % at]}.json`, json(parent.label === '' ? {} : { label: parent.label }))
    for (const [number, { at: target, type, label }] of connections.entries())
      if (target % ids.length !== at)
        tree.set(
          `connections/c-${number}.json`,
          json({ target: ids[target % ids.length], type, ...(label === '' ? {} : { label }) }),
        )
    return { id: ids[at] ?? '', path: `${at}`, title, files: tree }
  })
})
