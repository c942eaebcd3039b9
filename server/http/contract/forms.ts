/** Reads the body of an HTML form. */

import type { Request, Response } from 'express'
import { Refusal } from '../../base/errors.ts'
import { holdBody } from '../connection/held-bytes.ts'
import { readBytes } from './json.ts'

/** The largest field of most forms has 64 KiB. */
const limits = { bytes: 1_048_576, ms: 60_000 } as const

/** @throws Refusal too_large, request_timeout, unsupported_media_type, busy */
export async function readForm(req: Request, res: Response, bytes: number = limits.bytes): Promise<URLSearchParams> {
  const [type] = (req.headers['content-type'] ?? '').split(';')
  if (type?.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new Refusal('unsupported_media_type', 'Send application/x-www-form-urlencoded')
  return new URLSearchParams(
    (await readBytes(req, { ...limits, bytes, hold: holdBody(req, res, undefined) })).toString('utf8'),
  )
}
