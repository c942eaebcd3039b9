/** Reads request bodies: forms, and JSON of limited size and depth. */

import type { Request, RequestHandler, Response } from 'express'
import { AppError, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { isTooDeep } from '../../domain/format/limits.ts'
import { reserveBody } from '../connection/memory-budget.ts'
import { contextOf } from '../context.ts'
import { keepText } from './exact-json.ts'
import { badJson, readBytes, readJson } from './json.ts'

/** Reads the body into `req.body` if the operation has one. */
export const readBody: RequestHandler = async (req, res, next) => {
  const { operation } = contextOf(req)
  if (operation.body === 'none' || operation.body === 'stream') {
    if (operation.body === 'stream') requireUpload(req, operation.bodyType)
    req.body = undefined
    next()
    return
  }
  if (hasBody(req)) requireJson(req.headers['content-type'])
  const { actor } = contextOf(req)
  const hold = reserveBody(req, res, actor.kind === 'person' ? actor.id : undefined)
  const read = await readJson(req, { bytes: limits.bodyBytes, ms: limits.bodyMs, hold }).catch((error: unknown) => {
    // The rest of the body stays unread.
    if (!req.complete) res.set('Connection', 'close')
    throw error
  })
  if (read === undefined && operation.body === 'required') {
    throw new ValidationError([{ loc: ['body'], msg: 'Field required', type: 'missing' }])
  }
  const body = read === undefined ? {} : read.value
  if (isTooDeep(body)) throw badJson(`The JSON is nested deeper than ${limits.jsonLevels} levels`)
  if (read !== undefined) keepText(req, body, read.text)
  req.body = body
  next()
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Refuses a body that is streamed if it has another type, or none. @throws AppError unsupported_media_type */
function requireUpload({ headers }: Request, type: string): void {
  const [sent = ''] = (headers['content-type'] ?? '').split(';')
  const isPlain = ['', 'identity'].includes(headers['content-encoding'] ?? '')
  if (sent.trim().toLowerCase() !== type || !isPlain)
    throw new AppError('unsupported_media_type', `Send ${type}, without a Content-Encoding`)
}

/** Refuses a content type other than JSON. A missing one means JSON. @throws AppError unsupported_media_type */
export function requireJson(sent = 'application/json'): void {
  const [type, ...parameters] = sent.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  if (type !== 'application/json' || (charset !== undefined && !['utf-8', '"utf-8"', 'utf8'].includes(charset))) {
    throw new AppError('unsupported_media_type', 'Send application/json in UTF-8')
  }
}

/** Limits of a form. The largest field of most forms has 64 KiB. */
const formLimits = { bytes: 1_048_576, ms: 60_000 } as const

/** Reads a form. @throws AppError too_large, request_timeout, unsupported_media_type, busy */
export async function readForm(
  req: Request,
  res: Response,
  bytes: number = formLimits.bytes,
): Promise<URLSearchParams> {
  const [type] = (req.headers['content-type'] ?? '').split(';')
  if (type?.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new AppError('unsupported_media_type', 'Send application/x-www-form-urlencoded')
  return new URLSearchParams(
    (await readBytes(req, { ...formLimits, bytes, hold: reserveBody(req, res, undefined) })).toString('utf8'),
  )
}
