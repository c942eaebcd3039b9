import { expect } from 'chai'
import { stepsNamed } from '../../server/http/contract/openapi-validator.ts'
import { toValidationErrors } from '../../server/http/contract/validation-errors.ts'

describe('the validator', () => {
  const steps = ['pathParamsMiddleware', 'metadataMiddleware', 'requestMiddleware'].map((name) => ({ name }))

  it('is asked by the names of its steps', () => {
    expect(stepsNamed(steps, ['requestMiddleware'])).to.deep.equal([{ name: 'requestMiddleware' }])
  })

  it('that calls its steps otherwise keeps the service from starting', () => {
    const message =
      'express-openapi-validator should have one step called responseMiddleware; it has pathParamsMiddleware, metadataMiddleware, requestMiddleware'
    expect(() => stepsNamed(steps, ['requestMiddleware', 'responseMiddleware'])).to.throw(message)
    expect(() => stepsNamed([...steps, { name: 'requestMiddleware' }], ['requestMiddleware'])).to.throw('one step')
  })

  const schemas = {
    body: {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 3, maxLength: 7, pattern: '^[a-z]+$' },
        size: { type: ['integer', 'null'], minimum: 2, maximum: 9 },
        scope: { anyOf: [{ type: 'object', properties: { tags: { type: 'array', maxItems: 4 } } }, { type: 'null' }] },
      },
    },
    query: {},
    params: {},
  }
  const found = (keyword: string, path: string, body: unknown) =>
    toValidationErrors([{ path, errorCode: `${keyword}.openapi.validation` }], { body, query: {}, params: {} }, schemas)

  it('names a limit as the schema has it, whatever the validator says in its own words', () => {
    expect(found('minLength', '/body/name', { name: 'a' })).to.deep.equal([
      {
        loc: ['body', 'name'],
        msg: 'String should have at least 3 characters',
        type: 'string_too_short',
        ctx: { min_length: 3 },
        input: 'a',
      },
    ])
    expect(found('maximum', '/body/size', { size: 10 })[0]).to.deep.include({ ctx: { le: 9 }, type: 'less_than_equal' })
    expect(found('maxItems', '/body/scope/tags', { scope: { tags: [] } })[0]).to.deep.include({
      ctx: { max_length: 4 },
    })
    expect(found('type', '/body/size', { size: 'x' })[0]).to.include({ type: 'int_type' })
    expect(found('type', '/body/scope', { scope: 5 })[0]).to.include({ type: 'dict_type' })
  })

  it('is told once what it finds several times at one place: the first of what says most', () => {
    const all = ['pattern', 'minLength', 'maxLength'].map((keyword) => ({
      path: '/body/name',
      errorCode: `${keyword}.x`,
    }))
    expect(toValidationErrors(all, { body: { name: '' }, query: {}, params: {} }, schemas)).to.have.length(1)
    expect(toValidationErrors(all, { body: { name: '' }, query: {}, params: {} }, schemas)[0]).to.include({
      type: 'string_too_short',
    })
  })

  it('finds a null that is not meant beside what is, and that is not told', () => {
    const both = [
      { path: '/body/scope/more', errorCode: 'additionalProperties.x' },
      { path: '/body/scope', errorCode: 'type.x' },
      { path: '/body/scope', errorCode: 'anyOf.x' },
    ]
    const problems = toValidationErrors(both, { body: { scope: { more: 1 } }, query: {}, params: {} }, schemas)
    expect(problems.map(({ loc }) => loc)).to.deep.equal([['body', 'scope', 'more']])
  })

  it('says something even of a keyword that nobody knows yet', () => {
    expect(found('dependentRequired', '/body', {})).to.deep.equal([
      { loc: ['body'], msg: 'Input has the wrong shape', type: 'value_error' },
    ])
  })
})
