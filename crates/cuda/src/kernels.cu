// The kernels that cuBLAS does not have: patches of images and back, activations, and optimisers.
//
// Patches are rows: one for every position of a window, image by image, so that a convolution is one matrix product and its
// outputs have the channels last. Loops stride over the grid, so that any launch covers any size.

typedef unsigned char byte;
#define EACH(i, count) \
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < (count); i += gridDim.x * (long)blockDim.x)

struct Window {
    int planes, height, width, depth; // an image is [planes, height, width, depth]
    int kernel, stride, down, across; // positions of the window
};

// Bytes, channels first, to patches ordered by channel, row and pixel; four pixels a thread. Image i of the batch is images[rows[i]].
extern "C" __global__ void patches_of_bytes(const byte *images, const int *rows, float *patches, Window w, long fours) {
    int quarter = w.kernel / 4, patch = w.planes * w.kernel * quarter, positions = w.down * w.across;
    long image_size = (long)w.planes * w.height * w.width;
    EACH(i, fours) {
        long row = i / patch;
        int in_patch = i % patch, image = row / positions, position = row % positions;
        int plane = in_patch / (w.kernel * quarter), rest = in_patch % (w.kernel * quarter);
        int y = position / w.across * w.stride + rest / quarter, x = position % w.across * w.stride + rest % quarter * 4;
        const byte *at = images + rows[image] * image_size + ((long)plane * w.height + y) * w.width + x;
        uchar4 pixels = *(const uchar4 *)at;
        const float scale = 1.0f / 255.0f;
        ((float4 *)patches)[i] = make_float4(pixels.x * scale, pixels.y * scale, pixels.z * scale, pixels.w * scale);
    }
}

// The same, pixel by pixel, for windows that four pixels do not divide.
extern "C" __global__ void patches_of_any_bytes(const byte *images, const int *rows, float *patches, Window w, long count) {
    int patch = w.planes * w.kernel * w.kernel, positions = w.down * w.across;
    long image_size = (long)w.planes * w.height * w.width;
    EACH(i, count) {
        long row = i / patch;
        int in_patch = i % patch, image = row / positions, position = row % positions;
        int plane = in_patch / (w.kernel * w.kernel), rest = in_patch % (w.kernel * w.kernel);
        int y = position / w.across * w.stride + rest / w.kernel, x = position % w.across * w.stride + rest % w.kernel;
        patches[i] = images[rows[image] * image_size + ((long)plane * w.height + y) * w.width + x] * (1.0f / 255.0f);
    }
}

// Numbers, channels last, to patches ordered by row, pixel and channel.
extern "C" __global__ void patches_of_numbers(const float4 *images, float4 *patches, Window w, long fours) {
    int depth = w.depth / 4, across = w.kernel * depth, patch = w.kernel * across, positions = w.down * w.across;
    EACH(i, fours) {
        long row = i / patch;
        int in_patch = i % patch, position = row % positions;
        long image = row / positions;
        int y = position / w.across * w.stride + in_patch / across, x = position % w.across * w.stride;
        patches[i] = images[((image * w.height + y) * w.width + x) * depth + in_patch % across];
    }
}

// The gradient of the numbers that patches were made of, times the slope of the rectifier that made them.
extern "C" __global__ void gradient_of_patches(const float4 *patches, const float4 *outputs, float4 *gradient, Window w, long fours) {
    int depth = w.depth / 4, across = w.kernel * depth, patch = w.kernel * across;
    EACH(i, fours) {
        int channel = i % depth;
        long place = i / depth;
        int x = place % w.width, y = place / w.width % w.height;
        long image = place / ((long)w.width * w.height);
        int top = max(0, (y - w.kernel) / w.stride + (y >= w.kernel)), bottom = min(w.down - 1, y / w.stride);
        int left = max(0, (x - w.kernel) / w.stride + (x >= w.kernel)), right = min(w.across - 1, x / w.stride);
        float4 sum = make_float4(0, 0, 0, 0);
        for (int v = top; v <= bottom; v++) {
            for (int u = left; u <= right; u++) {
                long row = (image * w.down + v) * w.across + u;
                float4 part = patches[row * patch + (y - v * w.stride) * across + (x - u * w.stride) * depth + channel];
                sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
            }
        }
        float4 out = outputs[i];
        gradient[i] = make_float4(out.x > 0 ? sum.x : 0, out.y > 0 ? sum.y : 0, out.z > 0 ? sum.z : 0, out.w > 0 ? sum.w : 0);
    }
}

// out = max(out + bias, 0), or without the rectifier.
extern "C" __global__ void add_bias(float *out, const float *bias, int width, int rectify, long count) {
    EACH(i, count) {
        float sum = out[i] + bias[i % width];
        out[i] = rectify && !(sum > 0) ? 0 : sum;
    }
}

// gradient = 0 where the rectifier's output is.
extern "C" __global__ void rectifier_slope(const float *outputs, float *gradient, long count) {
    EACH(i, count) if (!(outputs[i] > 0)) gradient[i] = 0;
}

// Sums of the columns of [rows, width] by blocks of rows: partial[block, column]. One block of threads for 32 columns.
extern "C" __global__ void column_sums(const float *matrix, float *partial, int width, long rows) {
    __shared__ float sums[8][32];
    int column = blockIdx.y * 32 + threadIdx.x;
    float sum = 0;
    if (column < width)
        for (long row = blockIdx.x * 8L + threadIdx.y; row < rows; row += gridDim.x * 8L) sum += matrix[row * width + column];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < width) {
        for (int i = 1; i < 8; i++) sum += sums[i][threadIdx.x];
        partial[blockIdx.x * (long)width + column] = sum;
    }
}

// Sums of products of two arrays by blocks of 256 threads.
extern "C" __global__ void sum_of_products(const float *a, const float *b, float *partial, long count) {
    __shared__ float sums[256];
    float sum = 0;
    EACH(i, count) sum += a[i] * b[i];
    sums[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

// norm = sqrt of the sum of the partial sums, in their order; one thread, so that every run has the same bits.
extern "C" __global__ void norm_of_sums(const float *partial, float *norm, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += partial[i];
    *norm = sqrt(sum);
}

// numbers *= most / norm where their norm is above `most`; a norm that is not a number spoils them all.
extern "C" __global__ void clip(float *numbers, const float *norm, float most, long count) {
    float factor = most / (*norm + 1e-6f);
    if (factor >= 1) return;
    EACH(i, count) numbers[i] *= factor;
}

extern "C" __global__ void adam(float *weights, const float *gradient, float *mean, float *square, float step_size, float root_scale,
                                float beta1, float beta2, float epsilon, long count) {
    EACH(i, count) {
        float g = gradient[i];
        float m = mean[i] = beta1 * mean[i] + (1 - beta1) * g;
        float v = square[i] = beta2 * square[i] + (1 - beta2) * g * g;
        weights[i] -= step_size * m / (sqrtf(v) * root_scale + epsilon);
    }
}

extern "C" __global__ void rms_prop(float *weights, const float *gradient, float *square, float rate, float decay, float epsilon,
                                    long count) {
    EACH(i, count) {
        float g = gradient[i];
        float v = square[i] = decay * square[i] + (1 - decay) * g * g;
        weights[i] -= rate * g / (sqrtf(v) + epsilon);
    }
}

// features[row, k] = row . matrix[k]; `rows` says where each row begins, how long it is, and where its matrix begins. One block of
// 128 threads per row, which add up in a fixed order.
extern "C" __global__ void project(const float *source, const int *rows, const float *matrices, float *features, int dim) {
    __shared__ float sums[128];
    const int *row = rows + 3 * blockIdx.x;
    const float *numbers = source + row[0];
    for (int k = 0; k < dim; k++) {
        const float *column = matrices + row[2] + (long)k * row[1];
        float sum = 0;
        for (int i = threadIdx.x; i < row[1]; i += 128) sum += numbers[i] * column[i];
        sums[threadIdx.x] = sum;
        for (int half = 64; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        if (threadIdx.x == 0) features[(long)blockIdx.x * dim + k] = sums[0];
        __syncthreads();
    }
}

// The last row and column of a moment [n, n] of rows with a 1 appended, given the sums of their columns and how many there are.
extern "C" __global__ void border(float *moment, const float *sums, float keep, float scale, float rows, int n) {
    EACH(i, n) {
        float sum = i < n - 1 ? sums[i] : rows;
        moment[i * n + n - 1] = moment[(n - 1L) * n + i] = keep * moment[i * n + n - 1] + scale * sum;
    }
}

// out [m, n] = weight [m, n - 1] beside bias [m].
extern "C" __global__ void join(const float *weight, const float *bias, float *out, int n, long count) {
    EACH(i, count) {
        long row = i / n, column = i % n;
        out[i] = column < n - 1 ? weight[row * (n - 1) + column] : bias[row];
    }
}

// weight [m, n - 1] and bias [m] go against step [m, n].
extern "C" __global__ void go(float *weight, float *bias, const float *step, int n, long count) {
    EACH(i, count) {
        long row = i / n, column = i % n;
        float *place = column < n - 1 ? weight + row * (n - 1) + column : bias + row;
        *place -= step[i];
    }
}

// out = in / (s_row t_column + damping).
extern "C" __global__ void divide(const float *in, const float *s, const float *t, float damping, float *out, int n, long count) {
    EACH(i, count) out[i] = in[i] / (s[i / n] * t[i % n] + damping);
}

// out = a out + b in.
extern "C" __global__ void blend(float *out, const float *in, float a, float b, long count) {
    EACH(i, count) out[i] = (a == 0 ? 0 : a * out[i]) + b * in[i];
}

extern "C" __global__ void widen(const float *in, double *out, long count) {
    EACH(i, count) out[i] = in[i];
}

// Back from double precision; what must not be negative is at least 0.
extern "C" __global__ void narrow(const double *in, float *out, int positive, long count) {
    EACH(i, count) out[i] = positive && in[i] < 0 ? 0 : (float)in[i];
}

extern "C" __global__ void tanh_all(float *numbers, long count) {
    EACH(i, count) numbers[i] = tanhf(numbers[i]);
}
