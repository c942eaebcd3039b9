/** Git LFS asks below a repository's address. It is not spoken here; its client shows why. */

import type { Request, Response } from 'express'

export function isLfsRequest(req: Request): boolean {
  return /^\/git\/[^/]+\/[^/]+(\/[^/]+)?\/info\/lfs(\/|\?|$)/.test(req.originalUrl)
}

/** Source: git-lfs's docs/api, `application/vnd.git-lfs+json`. */
export function answerLfs(res: Response): void {
  const message = 'Grove does not store Git LFS objects; commit files of at most 100 MiB to git itself, without LFS'
  res.status(501).type('application/vnd.git-lfs+json').send(JSON.stringify({ message }))
}
