/** Types in the repository of an organisation. */

import { expect } from 'chai'
import { newObjectBatch } from '../../gitstore/objects/object-batch.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import type { TypeDefinition } from '../../server/domain/types/definition.ts'
import { commitType, readTypes } from '../../server/domain/types/stored-types.ts'
import { bareRepo, commitFiles, useFolder } from '../gitstore/bare-repo.ts'

const at = new Date('2026-12-01T10:00:00Z')
const ann = { name: 'Ann', email: 'ann@example.org' }
const book: TypeDefinition = { title: 'Book', aliases: ['volume'], enforcement: 'strict' }

async function change(repo: Repo, before: Oid, name: string, definition: TypeDefinition | null): Promise<Oid> {
  const draft = newObjectBatch(repo)
  const oid = await commitType(draft, before, { name, definition }, ann, at, `type ${name}`)
  await draft.save()
  return oid
}

describe('types in org.git', () => {
  useFolder()

  it('are written in one commit each, and read at any commit', async () => {
    const { repo, say } = await bareRepo()
    const first = await commitFiles(repo, { 'org.json': '{}', 'members/x.json': '{}' })
    expect((await readTypes(repo, first, false)).types.types).to.deep.equal([])
    const second = await change(repo, first, 'book', book)
    const third = await change(repo, second, 'film', { title: 'Film' })
    const { types, damaged } = await readTypes(repo, third, true)
    expect(damaged).to.deep.equal([])
    expect(types.refusesUnknown).to.equal(true)
    expect(types.types.map(({ name, definition }) => [name, definition])).to.deep.equal([
      ['book', book],
      ['film', { title: 'Film' }],
    ])
    expect(types.find('Volume')?.version).to.equal(say(['rev-parse', `${third}:types/book.json`]))
    expect(say(['show', `${third}:types/film.json`])).to.equal('{\n  "title": "Film"\n}')
    expect(say(['show', '-s', '--format=%an <%ae> %s', third])).to.equal('Ann <ann@example.org> type film')
    const fourth = await change(repo, third, 'book', null)
    const fifth = await change(repo, fourth, 'film', null)
    expect((await readTypes(repo, fourth, false)).types.types.map(({ name }) => name)).to.deep.equal(['film'])
    expect(say(['ls-tree', '--name-only', fifth]).split('\n')).to.deep.equal(['members', 'org.json'])
    expect((await readTypes(repo, fifth, false)).types.types).to.deep.equal([])
    expect((await readTypes(repo, second, false)).types.find('book')?.definition).to.deep.equal(book)
  })

  it('stay the same objects until they change', async () => {
    const { repo } = await bareRepo()
    const first = await change(repo, await commitFiles(repo, { 'org.json': '{}' }), 'book', book)
    const before = await readTypes(repo, first, false)
    expect(await readTypes(repo, first, false)).to.equal(before)
    const second = await change(repo, first, 'film', { title: 'Film' })
    const after = await readTypes(repo, second, false)
    expect(after.types.find('book')).to.equal(before.types.find('book'))
    const third = await change(repo, second, 'book', { title: 'Tome' })
    const last = await readTypes(repo, third, false)
    expect(last.types.find('book')?.definition).to.deep.equal({ title: 'Tome' })
    expect(last.types.find('film')).to.equal(after.types.find('film'))
  })

  it('that cannot be read are named, and affect no other', async () => {
    const { repo } = await bareRepo()
    const head = await commitFiles(repo, {
      'org.json': '{}',
      'types/book.json': JSON.stringify(book),
      'types/Film.json': '{"title":"Film"}',
      'types/later.json': '{"title":"Later","schema":{"properties":{"a":{"oneOf":[]}}}}',
      'types/broken.json': '{',
      'types/large.json': JSON.stringify({ title: 'x'.repeat(70_000) }),
      'types/notes.txt': 'not a type',
      'types/folder.json/x': 'not a type',
    })
    const { types, damaged } = await readTypes(repo, head, false)
    expect(types.types.map(({ name }) => name)).to.deep.equal(['book'])
    expect(damaged.map(({ path }) => path)).to.deep.equal([
      ...['types/Film.json', 'types/broken.json', 'types/large.json', 'types/later.json'],
    ])
    expect(damaged.at(-1)?.reason).to.include('schema.properties.a.oneOf is not supported')
  })

  it('are at most 200', async () => {
    const { repo } = await bareRepo()
    const names = Array.from({ length: 201 }, (_, n) => `t${String(n).padStart(3, '0')}`)
    const files = Object.fromEntries(names.map((name) => [`types/${name}.json`, '{"title":"A"}']))
    const { types, damaged } = await readTypes(repo, await commitFiles(repo, files), false)
    expect(types.types).to.have.length(200)
    expect(damaged).to.deep.equal([{ path: 'types/t200.json', reason: 'An organisation has at most 200 types' }])
  })
})
