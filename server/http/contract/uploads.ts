/** Bodies that are streamed to their handler instead of being read. */

import { PassThrough, type Readable } from 'node:stream'
import type { Request, Response } from 'express'
import { AppError, ClientDisconnectedError } from '../../base/errors.ts'
import { enforceClientTimeouts } from '../connection/slow-client.ts'

/** The bodies of operations that pages call in this process. */
const given = new WeakMap<Request, Readable>()

/** Gives a derived request its body. */
export function setUpload(req: Request, body: Readable): void {
  given.set(req, body)
}

/**
 * Opens the body. The caller limits its bytes, and may stop reading at any time.
 *
 * The stream fails with AppError request_timeout if the client is silent or too slow, and with
 * `ClientDisconnectedError` if it is gone.
 */
export function openUpload(req: Request, res: Response): Readable {
  return given.get(req) ?? openBody(req, res)
}

function openBody(req: Request, res: Response): Readable {
  const body = new PassThrough()
  const gone = () => {
    if (!req.complete) body.destroy(new ClientDisconnectedError())
  }
  enforceClientTimeouts(req, res, () =>
    body.destroy(new AppError('request_timeout', 'The upload was silent for a minute, or too slow; send it again')),
  )
  req.once('close', gone).once('error', gone)
  body.once('close', () => {
    req.off('close', gone).unpipe(body)
    // The rest of the body stays unread.
    if (!req.complete && !res.headersSent) res.set('Connection', 'close')
  })
  return req.pipe(body)
}
