/** Reads what was sent: JSON of bounded size and depth, and no null where the spec has none. */

import express, { type Request, type RequestHandler } from 'express'
import { depthLimit, isTooDeep } from '../domain/limits.ts'
import { Invalid, Refusal } from '../errors.ts'
import { contextOf } from './context.ts'
import { resolve, type Schema } from './spec.ts'

/** Bytes, after decompression. */
const largest = 16 * 1024 * 1024

/** Milliseconds for a body to arrive: the largest does at 150 KB/s. */
const patience = 120_000

/** What body-parser calls its `{}` for nothing at all, which could pass for a body. */
const nothing = 'entity.empty'

const parse = express.json({
  limit: largest,
  strict: false,
  type: () => true,
  verify: (_req, _res, content) => {
    if (content.length === 0) throw Object.assign(new Error('The body is empty'), { type: nothing })
  },
})

/** Puts the body into `req.body` if the operation has one, else leaves it unread. */
export const readBody: RequestHandler = (req, res, next) => {
  const { operation } = contextOf(req)
  if (operation.body === 'none') {
    req.body = undefined
    next()
    return
  }
  if (hasBody(req)) requireJson(req.headers['content-type'])
  // One spelling: the validator keeps a compiled schema for ever for each that it meets.
  req.headers['content-type'] = 'application/json'
  const overdue = setTimeout(() => req.destroy(), patience)
  parse(req, res, (error: unknown) => {
    clearTimeout(overdue)
    const empty = error ? isOfType(error, nothing) : req.body === undefined
    if (error && !empty) {
      next(bodyRefusal(error))
      return
    }
    if (empty && operation.body === 'required') {
      next(new Invalid([{ loc: ['body'], msg: 'Field required', type: 'missing' }]))
      return
    }
    if (isTooDeep(req.body)) {
      next(badJson(`JSON nested deeper than ${depthLimit} levels`))
      return
    }
    req.body = empty ? {} : withoutNulls(operation.bodySchema, req.body)
    next()
  })
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Where no type is said, JSON is meant. */
function requireJson(sent = 'application/json'): void {
  const [type, ...parameters] = sent.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  if (type !== 'application/json' || (charset !== undefined && !['utf-8', '"utf-8"', 'utf8'].includes(charset))) {
    throw new Refusal('unsupported_media_type', 'Send application/json in UTF-8')
  }
}

/** What body-parser refuses, by its `type`; anything else as it is. */
function bodyRefusal(error: unknown): unknown {
  if (!hasType(error)) return isZlibFault(error) ? badJson('The body is not compressed as its headers say') : error
  switch (error.type) {
    case 'entity.parse.failed':
      return badJson('JSON decode error')
    case 'entity.too.large':
      return new Refusal('too_large', 'The body is over 16 MiB')
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new Refusal('unsupported_media_type', 'Send application/json in UTF-8, plain or compressed with gzip')
    default:
      // The client hung up, sent another length than it said, or what is not gzip.
      return badJson('The body is not what its headers say')
  }
}

function hasType(error: unknown): error is Error & { type: unknown } {
  return error instanceof Error && 'type' in error
}

function isZlibFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(Z_|ERR__ERROR_)/.test(String(error.code))
}

function isOfType(error: unknown, type: string): boolean {
  return hasType(error) && error.type === type
}

function badJson(msg: string): Invalid {
  return new Invalid([{ loc: ['body'], msg, type: 'json_invalid' }])
}

/** Null for an optional field means absent, except where the spec gives null a meaning or leaves the value free. */
function withoutNulls(given: Schema, value: unknown): unknown {
  const schema = resolve(given)
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? value : value.map((item) => withoutNulls(items, item))
  }
  const { properties, required = [] } = schema
  if (typeof value !== 'object' || value === null || properties === undefined) return value
  const kept = Object.entries(value).filter(([name, inner]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    return inner !== null || property === undefined || required.includes(name) || allowsNull(property)
  })
  return Object.fromEntries(
    kept.map(([name, inner]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      return [name, property === undefined ? inner : withoutNulls(property, inner)]
    }),
  )
}

function allowsNull(given: Schema): boolean {
  const { type, oneOf, anyOf } = resolve(given)
  if (type !== undefined) return type === 'null' || (typeof type !== 'string' && type.includes('null'))
  const ways = oneOf ?? anyOf
  return ways === undefined || ways.some(allowsNull)
}
