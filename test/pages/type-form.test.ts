/** The form of a type: what nobody edits stays as it is, and each entry changes only what it says. */

import { expect } from 'chai'
import fc from 'fast-check'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { readDefinition } from '../../server/domain/types/definition.ts'
import {
  afterRowAct,
  definitionIn,
  draftIn,
  formView,
  nameIn,
  slugOf,
} from '../../server/features/types/pages/type-draft.ts'
import type { TypeDefinition } from '../../server/features/types/pages/type-fields.ts'
import { type TypeDraft, TypeForm } from '../../server/features/types/pages/type-form.tsx'
import { linesOf } from '../../server/features/types/pages/type-values.ts'
import { runs } from '../support/seed.ts'
import { rootSchemas, scalars } from '../types/arbitraries.ts'
import { fieldsIn } from './sent-forms.ts'

/** Returns the fields that a browser sends for a draft. */
function shown(draft: TypeDraft): URLSearchParams {
  return fieldsIn(renderToString(h(TypeForm, { draft, faults: new Map(), action: '/types', mayEdit: true })))
}

function draftOf(base: TypeDefinition): TypeDraft {
  return { known: 'recipe', name: 'recipe', version: '', broken: undefined, view: formView(base) }
}

function sent(form: URLSearchParams): TypeDraft {
  return draftIn(form, 'recipe') ?? expect.fail('The form was not read')
}

const asWritten = (text: string) => text

/** Edits fields of the form of a definition, and returns the definition and the faults that it makes. */
function edited(base: TypeDefinition, changes: Readonly<Record<string, string | null>>, acts: readonly string[] = []) {
  let draft = draftOf(base)
  for (const act of acts) draft = afterRowAct(sent(shown(draft)), act) ?? expect.fail(act)
  const form = shown(draft)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) form.delete(name)
    else form.set(name, value)
  }
  const { definition, faults } = definitionIn(sent(form), asWritten)
  return { definition, faults: Object.fromEntries(faults) }
}

const line = fc.oneof(
  fc.constantFrom('Recipe', '<b>&quot;', '"', ' spaces ', '\u202e', '10'),
  fc.string({ minLength: 1 }),
)
const names = fc.constantFrom('written_by', 'part_of', 'a')
const edges = {
  types: fc.array(fc.constantFrom('person', 'recipe', 'a-b'), { maxLength: 2 }),
  min: fc.nat(3),
  max: fc.nat(9),
}
const some = { requiredKeys: [] }
const definitions: fc.Arbitrary<TypeDefinition> = fc
  .record(
    {
      title: line,
      plural: line,
      aliases: fc.array(line, { maxLength: 3 }),
      enforcement: fc.constantFrom('strict', 'advisory'),
      schema: rootSchemas,
      connections: fc.dictionary(
        names,
        fc.record({ title: line, inverse: line, to: edges.types, min: edges.min, max: edges.max }, some),
      ),
      other_connections: fc.boolean(),
      parents: fc.record(edges, some),
      template: fc.record(
        {
          text_content: fc.oneof(fc.constantFrom('\n\n## A\n', '', '\r\n'), fc.string()),
          tags: fc.array(line, { maxLength: 3 }),
          properties: fc.dictionary(fc.constantFrom('serves', 'due', 'a.b', 'unknown'), scalars),
        },
        some,
      ),
      columns: fc.array(fc.constantFrom('serves', 'due', '"a.b"', 'a.b', 'title', '->written_by'), { maxLength: 3 }),
    },
    some,
  )
  .map((definition) => JSON.parse(JSON.stringify(definition)))

const recipe: TypeDefinition = {
  title: 'Recipe',
  schema: {
    type: 'object',
    required: ['type', 'serves'],
    properties: {
      serves: { type: 'integer', minimum: 1, title: 'Serves', 'x-unit': 'people', default: 4 },
      due: { type: ['string', 'null'], format: 'date' },
      size: { type: 'object', properties: { width: { type: 'number' } } },
    },
  },
  connections: { written_by: { title: 'Author', to: ['person'], max: 1 } },
  template: { properties: { serves: 4, other: [1] } },
  columns: ['serves', 'size.width', '->written_by'],
}
/** The fields of a definition. */
const propertiesOf = ({ schema = {} }: TypeDefinition) => schema.properties as Record<string, object>
const { serves, due, size } = propertiesOf(recipe)

describe('the form of a type', () => {
  it('changes nothing if nobody edits it, to the order of the members', () => {
    fc.assert(
      fc.property(definitions, (base) => {
        const { definition, faults } = definitionIn(sent(shown(draftOf(base))), asWritten)
        expect(JSON.stringify(definition)).to.equal(JSON.stringify(base))
        expect([...faults]).to.deep.equal([])
      }),
      { numRuns: runs(300) },
    )
  })

  it('changes nothing if rows are moved and moved back, and the form is shown again and again', () => {
    fc.assert(
      fc.property(definitions, (base) => {
        const acts = ['add-field', 'add-link', 'down-field:0', 'up-field:1', 'down-link:0', 'up-link:1']
        const { definition } = edited(base, {}, acts)
        expect(JSON.stringify(definition)).to.equal(JSON.stringify(base))
      }),
      { numRuns: runs(100) },
    )
  })

  it('changes one word of one field, and keeps all others', () => {
    const { definition } = edited(recipe, { 'f0.label': 'For how many' })
    expect(JSON.stringify(definition)).to.equal(
      JSON.stringify(recipe).replace('"title":"Serves"', '"title":"For how many"'),
    )
    const { title: _, ...others } = serves as { title: string }
    expect(edited(recipe, { 'f0.label': '' }).definition.schema?.properties).to.deep.equal({
      serves: others,
      due,
      size,
    })
  })

  it('renames a field everywhere', () => {
    const { definition } = edited(recipe, { 'f0.name': 'portions', 'f2.name': 'box' })
    expect(definition.schema).to.deep.include({ required: ['type', 'portions'] })
    expect(Object.keys(definition.schema?.properties as object)).to.deep.equal(['portions', 'due', 'box'])
    expect(definition.template).to.deep.equal({ properties: { portions: 4, other: [1] } })
    expect(definition.columns).to.deep.equal(['portions', 'box.width', '->written_by'])
    expect(edited(recipe, { 'c0.name': 'by' }).definition.columns).to.deep.equal(['serves', 'size.width', '->by'])
  })

  it('takes the name or the label of a field or a link as a column', () => {
    const properties = {
      'Number of servings': { type: 'integer' },
      made: { type: 'string', format: 'date', title: 'Made on' },
      one: { title: 'Same' },
      two: { title: 'Same' },
      'a.b': {},
      created: {},
    }
    const { connections } = recipe
    const columnsOf = (base: TypeDefinition, columns: string, more: Readonly<Record<string, string>> = {}) =>
      edited(base, { columns, ...more }).definition.columns
    const base = { title: 'A', schema: { properties }, connections } as TypeDefinition
    const typed = 'Number of servings\r\n Made on\na.b\ncreated\ntitle\n-> Author\nSame\n-> Nobody\nsize.width'
    const stored = ['"Number of servings"', 'made', '"a.b"', '"created"', 'title', '->written_by']
    const others = ['Same', '->Nobody', 'size.width']
    expect(columnsOf(base, typed)).to.deep.equal([...stored, ...others])
    expect(readDefinition({ ...base, columns: stored })).to.have.property('definition')
    const saved = { ...base, columns: stored }
    const lines = shown(draftOf(saved)).get('columns') ?? ''
    expect(linesOf(lines)).to.deep.equal(['Number of servings', 'made', 'a.b', 'created', 'title', '->written_by'])
    const turned = linesOf(lines).reverse().join('\n')
    expect(columnsOf(saved, turned)).to.deep.equal(stored.toReversed())
    const renamed = columnsOf(saved, '->written_by\nNumber of servings', { 'f0.name': 'For how many' })
    expect(renamed).to.deep.equal(['->written_by', '"For how many"'])
    // A path stays a path beside a field of this name.
    const path = { ...base, columns: ['a.b', '"a.b"'] }
    expect(linesOf(shown(draftOf(path)).get('columns') ?? '')).to.deep.equal(['a.b', '"a.b"'])
    expect(columnsOf(path, '"a.b"\na.b')).to.deep.equal(['"a.b"', 'a.b'])
  })

  it('removes a field and a link everywhere', () => {
    const { definition } = edited(recipe, {}, ['remove-field:0', 'remove-link:0'])
    expect(definition).to.deep.equal({
      title: 'Recipe',
      schema: {
        type: 'object',
        required: ['type'],
        properties: { due, size },
      },
      template: { properties: { other: [1] } },
      columns: ['size.width'],
    })
  })

  it('defines a type from an empty form', () => {
    const { definition, faults } = edited(
      { title: '' },
      {
        ...{ title: 'Recipe', plural: 'Recipes', aliases: ' recipes \r\n\r\nRezept', enforcement: 'strict' },
        ...{ 'f0.name': 'serves', 'f0.label': 'Serves', 'f0.kind': 'whole', 'f0.required': 'on', 'f0.least': '1' },
        ...{
          'f0.value': '4',
          'f1.name': 'course',
          'f1.kind': 'choice',
          'f1.choices': 'starter\r\n main',
          'f1.value': 'main',
        },
        ...{ 'f2.name': 'vegan', 'f2.kind': 'yes-no', 'f2.value': 'No', 'f2.help': 'Without milk.\r\n' },
        ...{ 'f3.name': 'steps', 'f3.kind': 'texts', 'f3.value': 'one\r\ntwo', 'f3.most': '9' },
        ...{
          'c0.name': 'written_by',
          'c0.label': 'Author',
          'c0.inverse': 'Wrote',
          'c0.to': 'person, cook',
          'c0.max': '1',
        },
        ...{ 'parents.types': 'collection', 'parents.min': '1', text: '## Method\r\n', tags: 'food, sweet' },
        ...{ columns: 'serves\r\n->written_by', others: null, other_connections: null },
      },
      ['add-field', 'add-field', 'add-field', 'add-field', 'add-link'],
    )
    expect(faults).to.deep.equal({})
    expect(definition).to.deep.equal({
      ...{ title: 'Recipe', plural: 'Recipes', aliases: ['recipes', 'Rezept'], enforcement: 'strict' },
      schema: {
        properties: {
          serves: { type: 'integer', title: 'Serves', minimum: 1 },
          course: { type: 'string', enum: ['starter', 'main'] },
          vegan: { type: 'boolean', description: 'Without milk.' },
          steps: { type: 'array', items: { type: 'string' }, maxItems: 9 },
        },
        required: ['serves'],
        additionalProperties: false,
      },
      connections: { written_by: { title: 'Author', inverse: 'Wrote', to: ['person', 'cook'], max: 1 } },
      other_connections: false,
      parents: { types: ['collection'], min: 1 },
      template: {
        ...{ text_content: '## Method\n', tags: ['food', 'sweet'] },
        properties: { serves: 4, course: 'main', vegan: false, steps: ['one', 'two'] },
      },
      columns: ['serves', '->written_by'],
    })
    expect(readDefinition(definition)).to.have.property('definition')
  })

  it('names each entry that it cannot read, and keeps it', () => {
    const base: TypeDefinition = { title: 'A', schema: { properties: { a: { type: 'integer' } } } }
    const { faults } = edited(
      base,
      {
        ...{ 'f0.least': 'one', 'f0.value': 'four', 'f1.name': 'a', 'f2.label': 'No name' },
        ...{
          'f3.name': 'j',
          'f3.kind': 'json',
          'f3.json': '[1]',
          'f4.name': 'c',
          'f4.kind': 'number-choice',
          'f4.choices': 'x',
        },
        ...{ 'c0.name': 'l', 'c0.min': '?' },
      },
      ['add-field', 'add-field', 'add-field', 'add-field', 'add-link'],
    )
    expect(faults).to.deep.equal({
      'f0.least': ['Enter a number.'],
      'f0.value': ['This is not a value of the kind “Whole number”.'],
      'f1.name': ['Another field has this name. Enter another one.'],
      'f2.name': ['Enter a name, or remove this field.'],
      'f3.json': ['This must be a JSON object, such as {"type": "string"}.'],
      'f4.choices': ['“x” is not a number.'],
      'c0.min': ['Enter a whole number.'],
    })
  })

  it('drops limits that mean something else for another kind, and reads the first value again', () => {
    const { definition, faults } = edited(recipe, { 'f0.kind': 'text' })
    expect(faults).to.deep.equal({})
    expect(propertiesOf(definition).serves).to.deep.equal({
      ...{ title: 'Serves', 'x-unit': 'people', type: 'string' },
    })
    expect(definition.template).to.deep.equal({ properties: { serves: '4', other: [1] } })
  })

  it('shows the schema of a field whose kind is exchanged for JSON', () => {
    const form = shown(draftOf(recipe))
    form.set('f0.kind', 'json')
    const json = { type: 'integer', minimum: 1, 'x-unit': 'people', default: 4 }
    expect(JSON.parse(shown(sent(form)).get('f0.json') ?? '')).to.deep.equal(json)
    expect(definitionIn(sent(form), asWritten).definition).to.deep.equal(recipe)
  })

  it('makes a name from the title', () => {
    const slugs = ['Crème brûlée', '2 Recipes', 'A & B', '食谱', '-x-', `${'long '.repeat(30)}`].map(slugOf)
    expect(slugs).to.deep.equal(['creme-brulee', 'recipes', 'a-b', '', 'x', `${'long-'.repeat(12)}long`])
    expect(nameIn({ ...draftOf(recipe), known: undefined, name: '' }, recipe)).to.equal('recipe')
  })
})
