import Fastify from 'fastify'

/** The smallest Fastify server, as a baseline. Prints its address. */
const http = Fastify()
http.get('/', async () => ({ hello: 'world' }))
console.log(await http.listen({ host: '127.0.0.1', port: 0 }))
