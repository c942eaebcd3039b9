/** Violations as a push shows them, with the lines of node.json. */

import { expect } from 'chai'
import { contentProblemsOf } from '../../server/domain/types/content-problems.ts'
import { OrgTypes } from '../../server/domain/types/org-types.ts'
import { judgeChange } from '../../server/domain/types/rules.ts'

const definition = {
  ...{ title: 'Recipe', enforcement: 'strict' as const, connections: { written_by: { min: 1 } } },
  schema: {
    required: ['due'],
    properties: { serves: { type: 'integer' as const }, steps: { type: 'array' as const, items: { const: 1 } } },
  },
}
const types = new OrgTypes([{ name: 'recipe', version: 'a', definition }], true)

function problemsOf(properties: Record<string, unknown>, json: string) {
  const node = { properties, parents: [], connections: [] }
  return contentProblemsOf(
    judgeChange(types, undefined, node, () => null),
    json,
  )
}

describe('violations in files', () => {
  it('name the line, and the folder of edges', () => {
    const properties = { type: 'recipe', serves: 'four', steps: [1, 2] }
    const problems = problemsOf(properties, JSON.stringify({ title: 'Soup', properties }, null, 2))
    expect(problems.map(({ path, reason }) => `${path}: ${reason}`)).to.deep.equal([
      'node.json: line 3: properties.due is missing (type recipe)',
      'node.json: line 5: properties.serves must be a whole number; it is the text "four" (type recipe)',
      'node.json: line 8: properties.steps[1] must be 1; it is the number 2 (type recipe)',
      'connections: connections.written_by must have at least 1 connection; the node has 0 (type recipe)',
    ])
    expect(problems[1]?.typed).to.deep.include({ line: 5, pointer: '/properties/serves', rule: 'type', type: 'recipe' })
    expect(problems[3]?.typed).to.have.all.keys('type', 'version', 'rule', 'place', 'says')
  })

  it('name a type that nobody defined', () => {
    const properties = { type: 'film' }
    expect(problemsOf(properties, `{"properties":\n${JSON.stringify(properties)}}`)).to.deep.equal([
      {
        path: 'node.json',
        reason: 'line 2: properties.type must be the name of a type; "film" is not one: "recipe"',
        typed: {
          rule: 'unknown_types',
          place: 'properties.type',
          says: 'properties.type must be the name of a type; "film" is not one: "recipe"',
          pointer: '/properties/type',
          line: 2,
        },
      },
    ])
  })
})
