/** Shared by the tests of branches: a service, a user, and the nodes that they create. */

import type { TestNode } from '../support/node.ts'
import { newScene } from '../support/world.ts'

export const { grove, ann, leavesCleanRepositories, useScene } = newScene({ ann: 'owner' })

export const aNode = (fields: object = {}) => ann.node(fields)

export const namesOf = async ({ at }: TestNode) =>
  (await ann.get(`${at}/branches`)).body.branches.map((branch: { name: string }) => branch.name)
